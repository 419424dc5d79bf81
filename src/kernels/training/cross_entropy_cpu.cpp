// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "kernels/training/cross_entropy.h"

namespace myxtts::plain {

at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.to(at::kFloat), targets, /*weight=*/{}, at::Reduction::None,
                                kIgnoredTarget);
}

}  // namespace myxtts::plain
