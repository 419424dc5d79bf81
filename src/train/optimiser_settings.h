// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "config/train.h"
#include "parallel/array_parts.h"

namespace myxtts {

// How AdamW and the arithmetic around it are set. The defaults are the Python peer's recipe for the
// GPT.
struct UpdateSettings {
  double beta1 = 0.9;
  double beta2 = 0.96;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  std::optional<double> clip = {};  // of the length of all gradients together
};

struct OptimiserSettings {
  UpdateSettings update = {};
  Moments moments = Moments::Fp32;
  bool scaled_loss = false;         // fp16: the loss is multiplied by what its gradients bear
  std::int64_t batches_a_step = 1;  // --grad-accum
  std::uint64_t seed = 0;           // of rounding where moments are short
  std::optional<ArrayPart> part =
      {};                   // of the trained numbers that this rank updates; nothing: all
  std::int64_t losses = 0;  // told beside the one that is trained; kMostLosses at most
};

}  // namespace myxtts
