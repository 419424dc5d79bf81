// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/dropout.h"

#include <utility>

#include <ATen/ATen.h>

namespace myxtts {
namespace {

thread_local std::optional<at::Generator> current;  // nothing: LibTorch's own

}  // namespace

DropoutGenerator::DropoutGenerator(const at::Generator& generator)
    : before_(std::exchange(current, generator)) {}

DropoutGenerator::~DropoutGenerator() {
  current = std::move(before_);
}

at::Tensor plain::dropout(const at::Tensor& x, double probability) {
  if (!x.is_cpu()) return at::dropout(x, probability, /*train=*/true);
  const auto kept =
      at::empty_like(x, x.options().requires_grad(false)).bernoulli_(1 - probability, current);
  return x * kept.div_(1 - probability);
}

}  // namespace myxtts
