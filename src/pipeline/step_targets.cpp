// SPDX-License-Identifier: Apache-2.0
#include "pipeline/step_targets.h"

#include "base/error.h"
#include "pipeline/clip_loader.h"

namespace myxtts {

StepTargets::StepTargets(const BatchSource& source, const RowOptions& options)
    : source_(source), options_(options) {
  MYXTTS_CHECK(options.batches_a_step >= 1, "a step of {} batches is none", options.batches_a_step);
}

bool StepTargets::ends_step(DataPosition position) const {
  return (position.step + 1) % options_.batches_a_step == 0 ||
         source_.next(position).epoch != position.epoch;
}

DataPosition StepTargets::first_of_step(DataPosition position) const {
  return {position.epoch, position.step - position.step % options_.batches_a_step};
}

TargetCounts StepTargets::planned(DataPosition position) {
  const DataPosition first = first_of_step(position);
  if (known_ && known_->first == first) return known_->counts;
  TargetCounts sum;
  for (DataPosition at = first;; at = source_.next(at)) {
    for (const PlannedBatch& batch : source_.batches_of_ranks(at)) {
      const TargetCounts own = of_batch(batch);
      sum.text += own.text;
      sum.audio += own.audio;
    }
    if (ends_step(at)) break;
  }
  known_ = {first, sum};
  return sum;
}

TargetCounts StepTargets::of_batch(const PlannedBatch& planned) const {
  TargetCounts sum;
  for (std::size_t i = 0; i < planned.clips.size(); ++i) {
    const ClipView clip = source_.clip(planned.clips[i]);
    const std::uint32_t repeat = planned.repeats.empty() ? 0 : planned.repeats[i];
    const TargetCounts own =
        count_targets(options_.gpt,
                      {.text_tokens = clip.text_tokens,
                       .codes = codes_of(clip.samples, options_.gpt.code_stride),
                       .prompt = source_.prompt(planned.position.epoch, clip, repeat),
                       .is_last = i + 1 == planned.clips.size()},
                      options_.mask);
    sum.text += own.text;
    sum.audio += own.audio;
  }
  return sum;
}

}  // namespace myxtts
