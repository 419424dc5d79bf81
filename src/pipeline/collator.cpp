// SPDX-License-Identifier: Apache-2.0
#include "pipeline/collator.h"

#include <utility>

#include "base/trace.h"
#include "pipeline/row_layout.h"

namespace myxtts {

Collator::Collator(const BatchSource& source, const RowOptions& options,
                   BoundedQueue<SettledBatch>& input, StagingPool& blocks)
    : source_(source), options_(options), steps_(source, options), input_(input), blocks_(blocks) {}

void Collator::run(BoundedQueue<HostBatch>& output) {
  try {
    work(output);
    output.finish();
  } catch (...) {
    output.fail(std::current_exception());
  }
  input_.stop();  // after the last batch this changes nothing
}

void Collator::work(BoundedQueue<HostBatch>& output) {
  const auto busy = meter_.busy();
  while (true) {
    std::optional<SettledBatch> settled;
    {
      const auto waiting = meter_.waiting_for_input();
      settled = input_.pop();
    }
    if (!settled) return;
    LaidOutBatch laid_out =
        lay_out(source_, options_.gpt, options_.mask, *settled, options_.windows);
    address(laid_out.batch);
    set_step(laid_out.batch);
    std::optional<StagingPool::Block> block;
    {
      const auto waiting = meter_.waiting_for_output();
      block = blocks_.claim(laid_out.block_bytes());
    }
    if (!block) return;
    const TraceScope trace("collate", settled->number);
    HostBatch batch = write_into(std::move(*block), std::move(laid_out), *settled);
    settled.reset();  // its samples are not needed twice while the output is full
    const auto waiting = meter_.waiting_for_output();
    if (!output.push(std::move(batch))) return;
  }
}

// See Note [Batches of several trainers].
void Collator::address(HostBatch& batch) const {
  batch.trainer = static_cast<std::size_t>(batch.number % options_.trainers);
  batch.number /= options_.trainers;
}

// See Note [Steps of several batches].
void Collator::set_step(HostBatch& batch) {
  batch.ends_step = steps_.ends_step(batch.position);
  if (steps_.are_single_batches()) return;
  const TargetCounts counts = steps_.planned(batch.position);
  batch.text_count = counts.text;
  batch.audio_count = counts.audio;
}

}  // namespace myxtts
