// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batcher.h"

#include <utility>

#include "base/trace.h"

namespace myxtts {

Batcher::Batcher(BatchSource& source, BatchWindow& window, BoundedQueue<SettledBatch>& output,
                 std::function<void()> after_batch)
    : source_(source), window_(window), output_(output), after_batch_(std::move(after_batch)) {}

void Batcher::run() {
  try {
    work();
    output_.finish();
  } catch (...) {
    output_.fail(std::current_exception());
  }
  window_.stop();  // after the last batch this changes nothing
}

void Batcher::work() {
  const auto busy = meter_.busy();
  while (true) {
    std::optional<DecodedBatch> batch;
    {
      const auto waiting = meter_.waiting_for_input();
      batch = window_.take();
    }
    if (!batch) return;
    SettledBatch settled = settle(std::move(*batch));
    {
      const auto waiting = meter_.waiting_for_output();
      if (!output_.push(std::move(settled))) return;
    }
    after_batch_();
  }
}

SettledBatch Batcher::settle(DecodedBatch batch) {
  const TraceScope trace("settle", batch.number);
  SettledBatch settled{.number = batch.number, .planned = std::move(batch.planned), .clips = {}};
  for (std::size_t index = 0; index < batch.clips.size(); ++index) {
    if (const auto* skipped = std::get_if<Skipped>(&batch.clips[index])) {
      source_.leave_out(settled.planned.clips[index], *skipped);
    } else {
      auto& clip = settled.clips.emplace_back(std::move(std::get<LoadedClip>(batch.clips[index])));
      if (!settled.planned.repeats.empty()) clip.repeat = settled.planned.repeats[index];
    }
  }
  return settled;
}

}  // namespace myxtts
