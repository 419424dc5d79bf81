// SPDX-License-Identifier: Apache-2.0
#include "diagnose/memory/memory_model.h"

#include "model/memory_estimate.h"

namespace myxtts {

MemoryModel usual_memory_model(const ModelConfig& model, const MemorySavers& savers, bool guided) {
  return [model, savers, guided](Precision precision, bool cpu) {
    const StepKind kind = {.precision = precision, .cpu = cpu, .savers = savers, .guided = guided};
    StepKind summing = kind;
    summing.batches_a_step = 2;
    const BatchShape clip = usual_batch(model.gpt, 1);
    const auto training = [&](const BatchShape& batch) {
      return training_memory(model, batch, kind).total();
    };
    MemoryNeeds needs;
    needs.model.fixed_bytes = training({});
    needs.model.clip_bytes = training(clip) - needs.model.fixed_bytes;
    needs.sum_bytes = training_memory(model, {}, summing).total() - needs.model.fixed_bytes;
    if (savers.release_gradients) needs.sum_bytes.reset();
    needs.data.fixed_bytes = feature_memory(model, {});
    needs.data.clip_bytes = feature_memory(model, clip) - needs.data.fixed_bytes;
    needs.slot_bytes = slot_memory(model, clip);
    needs.clip_tokens = clip.tokens;
    return needs;
  };
}

}  // namespace myxtts
