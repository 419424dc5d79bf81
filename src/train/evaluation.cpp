// SPDX-License-Identifier: Apache-2.0
#include "train/evaluation.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts {
namespace {

std::vector<double> means_of(const at::Tensor& sums) {  // [2, losses] fp64 on the CPU
  const std::int64_t count = sums.size(1);
  const auto* sum = sums.const_data_ptr<double>();
  std::vector<double> means;
  for (std::int64_t loss = 0; loss < count; ++loss) {
    if (sum[count + loss] == 0) {
      throw DataError("The validation clips hold nothing to measure; name others with --val-data.");
    }
    means.push_back(sum[loss] / sum[count + loss]);
  }
  return means;
}

}  // namespace

ValidationLosses measure(StageTraining& training, const std::function<DeviceBatch*()>& next,
                         const SumOverRanks& sum) {
  RoleDevice& device = training.device();
  const auto scope = device.enter(device.stream());
  at::Tensor sums;  // [2, losses] fp64: sums, and what they are over
  std::int64_t clips = 0;
  while (DeviceBatch* batch = next()) {
    clips += std::ssize(batch->clips);
    const at::Tensor found = training.evaluate(*batch).to(at::kDouble);
    sums = sums.defined() ? sums + found : found;
  }
  if (!sums.defined()) throw DataError("There is no batch to measure on; give --val-data.");
  sums = sums.cpu().contiguous();
  if (sum) {
    sum(sums);
    const auto all = at::full({1}, clips, at::kLong);
    sum(all);
    clips = all.item<std::int64_t>();
  }
  ValidationLosses found{.losses = means_of(sums), .clips = clips};
  found.total = training.total(found.losses);
  return found;
}

}  // namespace myxtts
