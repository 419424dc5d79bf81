// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/corpus_survey.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "base/thread_group.h"
#include "config/value_text.h"
#include "data/batches/batch_plan.h"
#include "data/cache/shard.h"
#include "data/clip_decoder.h"
#include "data/corpus.h"
#include "data/index/clip_checks.h"
#include "device/torch_device.h"
#include "pipeline/feature_writer.h"

namespace myxtts {
namespace {

std::filesystem::path user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "myxtts";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache" / "myxtts";
  }
  return temporary_folder() / "myxtts-cache";
}

constexpr std::int64_t kSurveyedBatch = 8;  // clips, where no batch size is asked for

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

void add_epoch(CorpusReport& report, const Corpus& corpus, const TrainConfig& train,
               const GptConfig& gpt) {
  const BatchSettings settings{.batch_size = train.batch_size.value_or(kSurveyedBatch),
                               .batch_tokens = train.batch_tokens,
                               .static_shapes = true,
                               .seed = static_cast<std::uint64_t>(train.seed)};
  const BatchPlan plan(corpus, gpt, settings);
  report.batch_size = plan.slots();
  report.steps_per_epoch = plan.steps_per_epoch();
  for (const auto& sizes : plan.sizes()) report.token_counts.push_back(sizes.tokens);
  report.useful_share = plan.useful_share();
}

void add_cache(CorpusReport& report, const Corpus& corpus, const DataConfig& config) {
  const auto folder = index_folder(config);
  for (const auto number : all_clips(corpus)) {
    report.cache_bytes += cached_bytes(corpus.clip(number).samples);
  }
  report.cache_folder = folder.string();
  report.free_bytes = free_room(folder);
}

// Says what will be written before it is.
void announce(const FeatureCache& cache, const Corpus& corpus) {
  std::uint64_t missing = 0;
  for (const auto number : all_clips(corpus)) {
    const auto clip = corpus.clip(number);
    if (!cache.contains(clip.identity)) missing += cached_bytes(clip.samples);
  }
  log_info("prepare", "{}", sentence_of_room(cache.folder(), missing, free_room(cache.folder())));
}

constexpr double kSilence = -100.0;

// The root of the mean square, in dB below full scale: 0 is a square wave at full scale.
double loudness_db(std::span<const std::int16_t> samples) {
  double sum = 0.0;
  for (const std::int16_t sample : samples) sum += static_cast<double>(sample) * sample;
  if (sum == 0.0) return kSilence;
  const double mean = sum / static_cast<double>(samples.size()) / (32768.0 * 32768.0);
  return std::max(kSilence, 10.0 * std::log10(mean));
}

// Decodes each of `clips` once and hands it to `visit`, which any of the workers may call at any
// time. Files whose sound is bad go to `skipped` instead. Throws what `visit` or `skipped` throws.
void survey_clips(const Corpus& corpus, std::span<const ClipNumber> clips, std::size_t workers,
                  const std::function<void(std::size_t, const DecodedClip&)>& visit,
                  SkipList& skipped) {
  Progress progress({.title = "Listening to clips", .total = clips.size()});
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto place = next++; place < clips.size(); place = next++) {
      stop_if_interrupted();
      const auto view = corpus.clip(clips[place]);
      auto decoded = decode_clip(std::string(view.audio));
      if (auto* bad = std::get_if<Skipped>(&decoded)) {
        bad->manifest = std::string(view.manifest);
        bad->line = view.line;
        skipped.add(std::move(*bad));
      } else {
        visit(place, std::get<DecodedClip>(decoded));
      }
      progress.advance();
    }
  };
  // One that fails ends the others after their clip.
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      next = clips.size();
      throw;
    }
  };
  ThreadGroup threads;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    threads.start("survey-" + std::to_string(worker), guarded);
  }
  threads.join();
}

}  // namespace

std::vector<CorpusSource> parse_corpora(const std::vector<std::string>& corpora,
                                        const std::string& flag) {
  std::vector<CorpusSource> sources;
  for (const auto& corpus : corpora) {
    auto source = parse_corpus_source(corpus);
    if (!source && !is_text(corpus)) {
      throw ConfigError(fmt::format("{} was given {}, {}", flag, quote(corpus), kNotUtf8));
    }
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

std::filesystem::path index_folder(const DataConfig& config) {
  return config.cache_dir.value_or(user_cache_folder());
}

namespace {

// "anna-1a2b3c4d"; corpora of the same name in other places have other names.
std::string name_of_corpora(const DataConfig& config) {
  FastChecksum checksum;
  for (const auto* sources : {&config.train_data, &config.val_data}) {
    for (const auto& source : *sources) {
      checksum.add(bytes_of(std::filesystem::weakly_canonical(source.path).string() + "\n"));
    }
  }
  const auto& first = config.train_data.empty() ? config.val_data : config.train_data;
  const auto path = std::filesystem::weakly_canonical(first.front().path);
  const auto named = std::filesystem::is_directory(path) ? path : path.parent_path();
  return fmt::format("{}-{:08x}", named.filename().string(),
                     static_cast<std::uint32_t>(checksum.value()));
}

}  // namespace

std::filesystem::path report_path(const DataConfig& config) {
  return index_folder(config) / (name_of_corpora(config) + ".report.html");
}

Corpus open_without_run(DataConfig config, const Vocabulary& vocabulary, HoldBack rule) {
  config.cache_dir = index_folder(config);
  const bool is_named = !config.train_data.empty() || !config.val_data.empty();
  return Corpus::open(config, vocabulary,
                      is_named ? *config.cache_dir / name_of_corpora(config) : *config.cache_dir,
                      rule);
}

std::vector<SuspiciousClip> find_suspicious(const Corpus& corpus) {
  std::vector<ClipFacts> facts;
  facts.reserve(corpus.size());
  for (const ClipNumber number : all_clips(corpus)) facts.push_back(facts_of(corpus.clip(number)));
  return find_suspicious(facts);
}

CorpusReport survey_corpus(const RunConfig& config, const Vocabulary& vocabulary,
                           const std::optional<OpenModel>& model, bool fill_cache) {
  const auto& data = config.data;
  const auto corpus = open_without_run(data, vocabulary);
  const auto clips = all_clips(corpus);
  std::optional<FeatureCache> cache;
  std::optional<FeatureWriter> writer;
  if (fill_cache) {
    const auto& stats = model->model.at("mel_stats");
    cache.emplace(*data.cache_dir, model_key(model->dvae, stats));
    writer.emplace(model->config.dvae, model->dvae, stats, open_one_device(config.devices.device),
                   *cache);
    announce(*cache, corpus);
  }

  SkipList bad_sound(data);
  std::vector<ClipFacts> facts(clips.size());
  const auto visit = [&](std::size_t place, const DecodedClip& decoded) {
    const auto clip = corpus.clip(clips[place]);
    facts[place] = facts_of(clip);
    facts[place].loudness_db = loudness_db(decoded.samples);
    if (writer) writer->add(clip.identity, decoded);
  };
  survey_clips(corpus, clips, workers_of(data), visit, bad_sound);
  std::erase_if(facts, [](const ClipFacts& clip) { return clip.audio.empty(); });  // bad sound

  auto report = make_corpus_report(title_of(data), facts);
  report.skipped = corpus.skipped();
  for (auto& skipped : bad_sound.sorted()) report.skipped.push_back(std::move(skipped));
  if (corpus.size() > 0) {
    add_epoch(report, corpus, config.train, model ? model->config.gpt : GptConfig{});
  }
  add_cache(report, corpus, data);
  if (cache) {
    log_info("prepare", "{} holds {}, {}.", cache->folder().string(),
             counted(static_cast<std::int64_t>(cache->size()), "clip"), human_size(cache->bytes()));
  }
  return report;
}

}  // namespace myxtts
