// SPDX-License-Identifier: Apache-2.0
#include "train/evaluation.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/losses.h"

namespace myxtts {
namespace {

ValidationLosses means_of(const at::Tensor& sums, std::int64_t clips) {  // [4] fp64 on the CPU
  const auto* sum = sums.const_data_ptr<double>();
  if (sum[2] == 0 || sum[3] == 0) {
    throw DataError("The validation clips hold nothing to measure; name others with --val-data.");
  }
  ValidationLosses losses{.text = sum[0] / sum[2], .audio = sum[1] / sum[3], .clips = clips};
  losses.total = kTextLossWeight * losses.text + losses.audio;
  return losses;
}

}  // namespace

ValidationLosses measure(GptTraining& training, const std::function<DeviceBatch*()>& next) {
  RoleDevice& device = training.device();
  const auto scope = device.enter(device.stream());
  at::Tensor sums;  // [text sum, audio sum, text targets, audio targets] fp64
  std::int64_t clips = 0;
  while (DeviceBatch* batch = next()) {
    clips += std::ssize(batch->clips);
    const at::Tensor found = training.evaluate(*batch).to(at::kDouble);
    sums = sums.defined() ? sums + found : found;
  }
  if (!sums.defined()) throw DataError("There is no batch to measure on; give --val-data.");
  return means_of(sums.cpu(), clips);
}

}  // namespace myxtts
