// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// What batch normalisation keeps of the batches it saw: means, variances, and how many there were.
// Passes write into a draft, which counts once their step does.
class RunningStatistics {
 public:
  // `tensors` are the network's, by the names of `specs` behind `prefix`; means and variances are
  // shared. The counters come from `weights` and are copied to the device of the others.
  RunningStatistics(const TensorSpecs& specs, const std::string& prefix,
                    const NamedTensors& tensors, const NamedTensors& weights);

  // `tensors` with the draft's means and variances in their places: for the network in training.
  NamedTensors with_draft(NamedTensors tensors) const;

  void count_pass() { passes_.add_(1); }

  // The draft counts, unless `skipped`, int32 [1], is not 0. Then the next draft begins.
  void update(const at::Tensor& skipped);
  void clear();

  // By the names of the public checkpoint, int64, sharing memory.
  NamedTensors counters() const;

 private:
  struct Pair {
    at::Tensor kept;
    at::Tensor draft;
  };

  std::map<std::string, Pair, std::less<>> pairs_;
  std::vector<std::string> counter_names_;
  at::Tensor counts_;  // [counters] int64
  at::Tensor passes_;  // [1] int64: of the draft
};

}  // namespace myxtts
