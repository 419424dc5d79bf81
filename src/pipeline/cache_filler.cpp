// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cache_filler.h"

#include <utility>

#include "base/log.h"
#include "base/trace.h"

namespace myxtts {
namespace {

std::size_t sample_bytes(const ComputedClip& clip) {
  return clip.sample_count * sizeof(std::int16_t);
}

std::size_t code_bytes(const ComputedClip& clip) {
  return clip.code_count * sizeof(std::int64_t);
}

}  // namespace

CacheFiller::CacheFiller(RoleDevice& device, FeatureCache& cache, std::size_t blocks)
    : device_(device),
      cache_(cache),
      blocks_(blocks, [&device](std::size_t bytes) { return device.host_memory(bytes); }),
      jobs_(blocks) {}

CacheFiller::~CacheFiller() {
  discarding_ = true;
  finish();  // copies that are under way need their memory
}

void CacheFiller::start() {
  threads_.start("cache writer", [this] { write(); });
}

void CacheFiller::keep(std::span<const ComputedClip> clips) {
  if (clips.empty() || !accepting_) return;
  std::size_t bytes = 0;
  for (const ComputedClip& clip : clips) {
    bytes += aligned(sample_bytes(clip)) + aligned(code_bytes(clip));
  }
  auto block = blocks_.try_claim(bytes);
  if (!block) {
    passed_over_ += std::ssize(clips);
    return;
  }
  (void)jobs_.push(copy(std::move(*block), clips));  // there is room for a job of each block
}

CacheFiller::Job CacheFiller::copy(StagingPool::Block block, std::span<const ComputedClip> clips) {
  std::byte* next = block.bytes().data();
  const auto bring = [&](const DeviceBytes& from, std::size_t bytes) {
    std::byte* const here = std::exchange(next, next + aligned(bytes));
    device_.copy(device_.stream(), {.data = here}, from, bytes);
    return DeviceBytes{.data = here};
  };
  std::vector<ComputedClip> copied(clips.begin(), clips.end());
  for (ComputedClip& clip : copied) {
    clip.samples = bring(clip.samples, sample_bytes(clip));
    clip.codes = bring(clip.codes, code_bytes(clip));
  }
  Job job{.block = std::move(block), .arrived = device_.make_event(), .clips = std::move(copied)};
  job.arrived.record(device_.stream());
  return job;
}

void CacheFiller::write() {
  try {
    while (auto job = jobs_.pop()) {
      job->arrived.wait();
      const TraceScope trace("cache", static_cast<std::int64_t>(job->clips.size()));
      for (const ComputedClip& clip : job->clips) add(clip);
    }
  } catch (const std::exception& error) {
    // The pipeline itself meets a device that is lost, and ends the run.
    log_warning("cache", "{} No more clips are cached.", error.what());
  }
  accepting_ = false;
  jobs_.stop();
}

void CacheFiller::add(const ComputedClip& clip) {
  if (discarding_) return;
  const auto* samples = static_cast<const std::int16_t*>(clip.samples.data);
  const std::span found(static_cast<const std::int64_t*>(clip.codes.data), clip.code_count);
  const std::vector<std::uint16_t> codes(found.begin(), found.end());
  if (!cache_.add(clip.identity, {samples, clip.sample_count}, codes)) {
    accepting_ = false;  // it said why
  }
}

void CacheFiller::finish() {
  accepting_ = false;
  if (!std::exchange(finished_, true)) jobs_.finish();
  threads_.join();
}

}  // namespace myxtts
