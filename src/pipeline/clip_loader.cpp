// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_loader.h"

#include <time.h>
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/trace.h"

namespace myxtts {
namespace {

bool is_whole(const CachedClip& cached, const ClipView& clip, std::int64_t code_stride) {
  return static_cast<std::int64_t>(cached.samples.size()) == clip.samples &&
         static_cast<std::int64_t>(cached.codes.size()) == codes_of(clip.samples, code_stride);
}

// Nothing when the sound is as long as it was.
std::optional<Skipped> changed_length(const DecodedClip& sound, const ClipView& clip) {
  const auto samples = static_cast<std::int64_t>(sound.samples.size());
  if (samples == clip.source_frames && sound.sample_rate == clip.source_rate) return std::nullopt;
  return Skipped{
      .file = std::filesystem::path(clip.audio),
      .manifest = std::filesystem::path(clip.manifest),
      .line = clip.line,
      .reason = samples > clip.source_frames ? SkipReason::AudioTooLong : SkipReason::Truncated,
      .measured = fmt::format("{} samples at {} Hz, {} at {} Hz when it was indexed", samples,
                              sound.sample_rate, clip.source_frames, clip.source_rate)};
}

}  // namespace

ClipResult load_clip(const BatchSource& source, ClipNumber number, std::int64_t code_stride) {
  const ClipView clip = source.clip(number);
  LoadedClip loaded{.number = number, .text = source.text_ids(clip), .sound = {}};
  MYXTTS_CHECK(static_cast<std::int64_t>(loaded.text.size()) == clip.text_tokens,
               "{} has {} text tokens, the index says {}", clip.id, loaded.text.size(),
               clip.text_tokens);

  const auto cached = source.cached(clip);
  if (cached && is_whole(*cached, clip, code_stride)) {
    loaded.sound = *cached;
    return loaded;
  }
  auto sound = source.decode(clip);
  if (auto* skipped = std::get_if<Skipped>(&sound)) return std::move(*skipped);
  auto& decoded = std::get<DecodedClip>(sound);
  if (auto changed = changed_length(decoded, clip)) return std::move(*changed);
  loaded.sound = std::move(decoded);
  return loaded;
}

namespace {

// That this thread has computed so far.
std::int64_t thread_nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

}  // namespace

ClipLoader::ClipLoader(const BatchSource& source, BoundedQueue<LoadJob>& jobs, BatchWindow& window,
                       const PipelineOptions& options)
    : source_(source),
      jobs_(jobs),
      window_(window),
      code_stride_(options.gpt.code_stride),
      workers_(options.workers) {
  MYXTTS_CHECK(options.workers >= 1 && options.workers <= options.most_workers,
               "{} of {} workers cannot work", options.workers, options.most_workers);
  for (std::size_t worker = 0; worker < options.most_workers; ++worker) {
    meters_.push_back(std::make_unique<LoadMeter>());
  }
}

void ClipLoader::run(std::size_t worker) {
  try {
    work(worker);
  } catch (...) {
    window_.fail(std::current_exception());
  }
  jobs_.stop();  // after the last job this changes nothing; otherwise the reader has to know
  stop();
}

void ClipLoader::work(std::size_t worker) {
  LoadMeter& meter = *meters_[worker];
  while (wait_for_turn(worker)) {
    std::optional<LoadJob> job;
    {
      const auto waiting = meter.waiting_for_input();
      job = jobs_.pop();
    }
    if (!job) return;
    const auto busy = meter.busy();
    const TraceScope trace("decode", job->batch);
    const std::int64_t began = thread_nanoseconds();
    ClipResult clip = load_clip(source_, job->clip, code_stride_);
    ++clips_;
    cpu_nanoseconds_ += thread_nanoseconds() - began;
    if (!window_.put(job->batch, job->index, std::move(clip))) return;
  }
}

bool ClipLoader::wait_for_turn(std::size_t worker) {
  std::unique_lock lock(mutex_);
  turn_came_.wait(lock, [&] { return stopped_ || worker < workers_; });
  return !stopped_;
}

void ClipLoader::set_workers(std::size_t workers) {
  const std::lock_guard lock(mutex_);
  workers_ = std::clamp<std::size_t>(workers, 1, meters_.size());
  turn_came_.notify_all();
}

std::size_t ClipLoader::workers() const {
  const std::lock_guard lock(mutex_);
  return workers_;
}

void ClipLoader::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  turn_came_.notify_all();
}

LoadReading ClipLoader::load() const {
  LoadReading sum;
  for (const auto& meter : meters_) sum = sum + meter->read();
  return sum;
}

double ClipLoader::cpu_seconds() const {
  return 1e-9 * static_cast<double>(cpu_nanoseconds_.load());
}

}  // namespace myxtts
