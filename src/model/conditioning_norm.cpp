// SPDX-License-Identifier: Apache-2.0
#include "model/conditioning_norm.h"

#include "base/error.h"
#include "kernels/training/group_norm.h"

namespace myxtts {

std::int64_t conditioning_groups(std::int64_t channels) {
  std::int64_t groups = channels <= 16 ? 8 : channels <= 64 ? 16 : 32;
  while (channels % groups != 0) groups /= 2;
  MYXTTS_CHECK(groups > 2, "{} channels do not divide into more than two groups", channels);
  return groups;
}

at::Tensor conditioning_norm(const at::Tensor& x, const at::Tensor& weight,
                             const at::Tensor& bias) {
  return group_norm(x, {.weight = weight, .bias = bias, .groups = conditioning_groups(x.size(2))});
}

}  // namespace myxtts
