// SPDX-License-Identifier: Apache-2.0
#include "pipeline/corpus_batches.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "data/batches/sound_window.h"
#include "text/language.h"

namespace myxtts {
namespace {

// Reads the file once, so that decoding it afterwards waits for no disk and the two can be measured
// apart. A file that cannot be read is left to the clip loader, which says why.
void fetch(const std::string& path) {
  thread_local std::vector<char> block(std::size_t{1} << 18);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  while (::read(file, block.data(), block.size()) > 0) {
  }
  ::close(file);
}

// As above, in a trial alone.
void fetch_for(StageProbe& probe, std::string_view path) {
  const auto began = system_clock().now();
  fetch(std::string(path));
  probe.report(Work::ReadingFiles);
  probe.file_nanoseconds += (system_clock().now() - began).count();
  probe.report(Work::Decoding);
}

}  // namespace

CorpusBatches::CorpusBatches(const Corpus& corpus, const BatchPlan& plan,
                             const Vocabulary& vocabulary, const DataConfig& config,
                             const CorpusBatchesOptions& options)
    : corpus_(corpus),
      plan_(plan),
      options_(options),
      clips_(static_cast<std::int64_t>(corpus.size() + corpus.skipped().size())),
      own_list_(options.left_out == nullptr
                    ? std::make_unique<SkipList>(config, corpus.skipped(), std::filesystem::path())
                    : nullptr),
      list_(own_list_ ? *own_list_ : *options.left_out) {
  for (ClipNumber number = 0; number < corpus.size(); ++number) {
    const std::string_view language = corpus.clip(number).language;
    if (encoders_.contains(language)) continue;
    encoders_.emplace(language,
                      std::make_unique<const TextEncoder>(vocabulary, parse_language(language)));
  }
}

std::vector<std::int64_t> CorpusBatches::text_ids(const ClipView& clip) const {
  const auto encoder = encoders_.find(clip.language);
  MYXTTS_CHECK(encoder != encoders_.end(), "{} has the new language {}", clip.id, clip.language);
  const EncodedText text = encoder->second->encode(clip.text);
  return {text.ids.begin(), text.ids.end()};
}

PromptSpan CorpusBatches::prompt(std::int64_t epoch, const ClipView& clip,
                                 std::uint32_t repeat) const {
  if (!options_.prompt_seed) return evaluation_prompt(clip.samples);
  return training_prompt(
      {.seed = *options_.prompt_seed, .epoch = epoch, .clip_id = clip.id, .repeat = repeat},
      clip.samples);
}

std::int64_t CorpusBatches::shift(std::int64_t epoch, const ClipView& clip,
                                  std::uint32_t repeat) const {
  if (!options_.shift || !options_.prompt_seed) return 0;
  return training_shift(
      {.seed = *options_.prompt_seed, .epoch = epoch, .clip_id = clip.id, .repeat = repeat});
}

ReplacedCodes CorpusBatches::noise(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat,
                                   std::int64_t count, std::int64_t codes) const {
  if (options_.noise == 0 || !options_.prompt_seed) return {};
  return training_noise(
      {.seed = *options_.prompt_seed, .epoch = epoch, .clip_id = clip.id, .repeat = repeat},
      options_.noise, count, codes);
}

std::int64_t CorpusBatches::window(VisitDraw draw, std::int64_t window, std::int64_t count,
                                   std::int64_t last) const {
  if (!options_.prompt_seed) return evaluation_window(window, count, last);
  draw.seed = *options_.prompt_seed;
  return training_window(draw, window, last);
}

std::int64_t CorpusBatches::speaker(const ClipView& clip) const {
  return options_.speakers == nullptr ? 0 : options_.speakers->number(clip);
}

std::optional<CachedClip> CorpusBatches::cached(const ClipView& clip) const {
  if (options_.cache == nullptr) return std::nullopt;
  return options_.cache->find(clip.identity);
}

void CorpusBatches::begin_epoch(std::int64_t) const {
  if (options_.cache != nullptr) options_.cache->refresh();
}

// The kernel reads on its own while the clip loaders work on what came before.
void CorpusBatches::read_ahead(const ClipView& clip) const {
  if (options_.cache != nullptr && options_.cache->contains(clip.identity)) return;
  if (options_.probe != nullptr) options_.probe->report(Work::ListingFiles);
  const int file = ::open(std::string(clip.audio).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;  // decode() will say why
  ::posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED);
  ::close(file);
}

std::variant<DecodedClip, Skipped> CorpusBatches::decode(const ClipView& clip) const {
  if (options_.probe != nullptr) fetch_for(*options_.probe, clip.audio);
  auto result = decode_clip(std::filesystem::path(clip.audio));
  if (auto* skipped = std::get_if<Skipped>(&result)) {
    skipped->manifest = std::filesystem::path(clip.manifest);
    skipped->line = clip.line;
  }
  return result;
}

void CorpusBatches::leave_out(ClipNumber number, const Skipped& skipped) {
  const std::lock_guard lock(mutex_);
  if (!left_out_.insert(number).second) return;  // in an earlier epoch already
  log_warning("pipeline", "{} is left out: {} ({})", skipped.file.string(), name_of(skipped.reason),
              skipped.measured);
  list_.add(skipped);
  list_.save();
  list_.check_limit(clips_);
}

}  // namespace myxtts
