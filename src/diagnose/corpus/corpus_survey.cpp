// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/corpus_survey.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/value_text.h"
#include "data/batches/batch_plan.h"
#include "data/cache/shard_format.h"
#include "data/corpus.h"
#include "data/index/clip_checks.h"
#include "device/torch_device.h"
#include "diagnose/corpus/corpus_report.h"
#include "pipeline/feature_writer.h"

namespace myxtts {

std::vector<CorpusSource> parse_corpora(const std::vector<std::string>& corpora,
                                        const std::string& flag) {
  std::vector<CorpusSource> sources;
  for (const auto& corpus : corpora) {
    auto source = parse_corpus_source(corpus);
    if (!source) {
      throw ConfigError(fmt::format(
          "{} takes the path of a folder or of a manifest, alone or with ',language=CODE' or "
          "',format=LAYOUT' behind it, but was given {}.",
          flag, quote(corpus)));
    }
    sources.push_back(std::move(*source));
  }
  return sources;
}

namespace {

std::filesystem::path user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "myxtts";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache" / "myxtts";
  }
  return std::filesystem::temp_directory_path() / "myxtts-cache";
}

}  // namespace

std::filesystem::path index_folder(const DataConfig& config) {
  const auto folder = config.cache_dir.value_or(user_cache_folder());
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder)) {
    throw DataError(fmt::format("The folder {} cannot be made: {}. Give another with --cache-dir.",
                                folder.string(), error.message()));
  }
  return folder;
}

namespace {

constexpr std::int64_t kUsualBatch = 8;  // clips, where no batch size is asked for

std::string title_of(const DataConfig& config) {
  std::string title;
  for (const auto& source : config.train_data) {
    title += (title.empty() ? "" : ", ") + source.path.string();
  }
  return title;
}

std::size_t workers_of(const DataConfig& config) {
  const auto cores = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<std::size_t>(config.num_workers.value_or(cores));
}

ClipFacts facts_of(const ClipView& clip) {
  const double seconds = static_cast<double>(clip.samples) / static_cast<double>(kModelRate);
  return {.id = clip.id,
          .audio = clip.audio,
          .text = clip.text,
          .speaker = clip.speaker,
          .language = clip.language,
          .sample_rate = clip.source_rate,
          .seconds = seconds,
          .chars_per_second = chars_per_second(clip.text, seconds)};
}

std::vector<ClipNumber> all_clips(const Corpus& corpus) {
  std::vector<ClipNumber> clips(corpus.size());
  std::iota(clips.begin(), clips.end(), ClipNumber{0});
  return clips;
}

EpochOutlook outlook_of(const Corpus& corpus, const CorpusSurvey& survey) {
  const auto& train = survey.config.train;
  const BatchSettings settings{.batch_size = train.batch_size.value_or(kUsualBatch),
                               .batch_tokens = train.batch_tokens,
                               .static_shapes = true,
                               .seed = static_cast<std::uint64_t>(train.seed)};
  const GptConfig gpt = survey.model ? survey.model->config.gpt : GptConfig{};
  const BatchPlan plan(corpus, gpt, settings);
  EpochOutlook outlook{.batch_size = plan.slots(),
                       .steps = plan.steps_per_epoch(),
                       .token_counts = {},
                       .useful_share = plan.useful_share()};
  for (const auto& sizes : plan.sizes()) outlook.token_counts.push_back(sizes.tokens);
  return outlook;
}

CacheOutlook cache_outlook(const Corpus& corpus, const DataConfig& config) {
  const auto folder = index_folder(config);
  std::uint64_t bytes = 0;
  for (const auto number : all_clips(corpus)) bytes += cached_bytes(corpus.clip(number).samples);
  const auto room = cache_room(folder, bytes);
  return {.folder = folder.string(), .needed_bytes = bytes, .free_bytes = room.available};
}

// The cache of the survey's model, and what fills it.
struct CacheFilling {
  CacheFilling(const CorpusSurvey& survey, const OpenModel& model)
      : cache(*survey.config.data.cache_dir, model_key(model.dvae, model.model.at("mel_stats"))),
        writer(model.config.dvae, model.dvae, model.model.at("mel_stats"),
               open_one_device(survey.config.devices.device), cache) {}

  FeatureCache cache;
  FeatureWriter writer;
};

// Says what will be written before it is.
void announce(const FeatureCache& cache, const Corpus& corpus) {
  std::uint64_t missing = 0;
  for (const auto number : all_clips(corpus)) {
    const auto clip = corpus.clip(number);
    if (!cache.contains(clip.identity)) missing += cached_bytes(clip.samples);
  }
  const auto room = cache_room(cache.folder(), missing);
  log_info("prepare", "{}", room.sentence(cache.folder()));
}

}  // namespace

CorpusReport survey_corpus(const CorpusSurvey& survey) {
  const auto& data = survey.config.data;
  const auto corpus = Corpus::open(data, survey.vocabulary, index_folder(data));
  const auto clips = all_clips(corpus);
  std::unique_ptr<CacheFilling> filling;
  if (survey.fill_cache) {
    filling = std::make_unique<CacheFilling>(survey, *survey.model);
    announce(filling->cache, corpus);
  }

  SkipList bad_sound(data);
  std::vector<ClipFacts> facts(clips.size());
  const auto visit = [&](std::size_t place, const DecodedClip& decoded) {
    const auto clip = corpus.clip(clips[place]);
    facts[place] = facts_of(clip);
    facts[place].loudness_db = loudness_db(decoded.samples);
    if (filling) filling->writer.add(clip.identity, decoded);
  };
  survey_clips(corpus, clips, workers_of(data), visit, bad_sound);
  std::erase_if(facts, [](const ClipFacts& clip) { return clip.audio.empty(); });  // bad sound

  auto report = make_corpus_report(title_of(data), facts);
  report.skipped = corpus.skipped();
  for (auto& skipped : bad_sound.sorted()) report.skipped.push_back(std::move(skipped));
  if (corpus.size() > 0) report.epoch = outlook_of(corpus, survey);
  report.cache = cache_outlook(corpus, data);
  if (filling) {
    log_info("prepare", "{} holds {} clips, {}.", filling->cache.folder().string(),
             filling->cache.size(), human_size(filling->cache.bytes()));
  }
  return report;
}

}  // namespace myxtts
