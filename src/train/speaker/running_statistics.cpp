// SPDX-License-Identifier: Apache-2.0
#include "train/speaker/running_statistics.h"

#include <ATen/ATen.h>

#include "train/parameters.h"

namespace myxtts {

RunningStatistics::RunningStatistics(const TensorSpecs& specs, const std::string& prefix,
                                     const NamedTensors& tensors, const NamedTensors& weights) {
  std::vector<at::Tensor> counts;
  for (const auto& spec : specs) {
    const std::string name = prefix + spec.name;
    if (spec.role == TensorRole::Counter) {
      counter_names_.push_back(name);
      counts.push_back(find_tensor(weights, name, spec.shape).to(at::kCPU, at::kLong));
    } else if (name.ends_with(".running_mean") || name.ends_with(".running_var")) {
      const auto& kept = tensors.at(name);
      pairs_.emplace(name, Pair{.kept = kept, .draft = kept.clone()});
    }
  }
  const auto device = pairs_.begin()->second.kept.device();
  counts_ = at::stack(counts).to(device);
  passes_ = at::zeros({1}, counts_.options());
}

NamedTensors RunningStatistics::with_draft(NamedTensors tensors) const {
  for (const auto& [name, pair] : pairs_) tensors.at(name) = pair.draft;
  return tensors;
}

void RunningStatistics::update(const at::Tensor& skipped) {
  const at::NoGradGuard no_grad;
  const auto good = skipped.eq(0);
  for (const auto& [name, pair] : pairs_) {
    pair.kept.copy_(at::where(good, pair.draft, pair.kept));
  }
  counts_.add_(passes_ * good);
  clear();
}

void RunningStatistics::clear() {
  for (const auto& [name, pair] : pairs_) pair.draft.copy_(pair.kept);
  passes_.zero_();
}

NamedTensors RunningStatistics::counters() const {
  NamedTensors named;
  for (std::size_t i = 0; i < counter_names_.size(); ++i) {
    named.emplace(counter_names_[i], counts_.select(0, static_cast<std::int64_t>(i)));
  }
  return named;
}

}  // namespace myxtts
