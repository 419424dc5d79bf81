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
    return here;
  };
  std::vector<Copied> copied;
  for (const ComputedClip& clip : clips) {
    const auto* samples = bring(clip.samples, sample_bytes(clip));
    const auto* codes = bring(clip.codes, code_bytes(clip));
    copied.push_back(
        {.identity = clip.identity,
         .samples = {reinterpret_cast<const std::int16_t*>(samples), clip.sample_count},
         .codes = {reinterpret_cast<const std::int64_t*>(codes), clip.code_count}});
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
      for (const Copied& clip : job->clips) add(clip);
    }
  } catch (const std::exception& error) {
    // The pipeline itself meets a device that is lost, and ends the run.
    log_warning("cache", "{} No more clips are cached.", error.what());
  }
  accepting_ = false;
  jobs_.stop();
}

void CacheFiller::add(const Copied& clip) {
  if (discarding_) return;
  const std::vector<std::uint16_t> codes(clip.codes.begin(), clip.codes.end());
  if (!cache_.add(clip.identity, clip.samples, codes)) accepting_ = false;  // it said why
}

void CacheFiller::finish() {
  accepting_ = false;
  if (!std::exchange(finished_, true)) jobs_.finish();
  threads_.join();
}

}  // namespace myxtts
