// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/op_tensors.h"

#include <ATen/ATen.h>

namespace myxtts {

std::optional<Number> common_number(std::initializer_list<at::Tensor> tensors) {
  const at::Tensor* first = nullptr;
  for (const auto& tensor : tensors) {
    if (!tensor.defined()) continue;
    if (first == nullptr) first = &tensor;
    if (!tensor.is_cuda() || tensor.device() != first->device() ||
        tensor.scalar_type() != first->scalar_type()) {
      return std::nullopt;
    }
  }
  if (first == nullptr) return std::nullopt;
  switch (first->scalar_type()) {
    case at::kFloat:
      return Number::Fp32;
    case at::kBFloat16:
      return Number::Bf16;
    case at::kHalf:
      return Number::Fp16;
    default:
      return std::nullopt;
  }
}

namespace {

thread_local bool promised_here = false;

bool can_hold(const at::Tensor& gradient, const at::Tensor& parameter) {
  return gradient.defined() && gradient.is_contiguous() &&
         gradient.scalar_type() == parameter.scalar_type() && gradient.sizes() == parameter.sizes();
}

}  // namespace

ZeroGradientPromise::ZeroGradientPromise() : before_(promised_here) {
  promised_here = true;
}

ZeroGradientPromise::~ZeroGradientPromise() {
  promised_here = before_;
}

bool ZeroGradientPromise::given() {
  return promised_here;
}

GradientTarget::GradientTarget(const at::Tensor& parameter, bool promised) {
  if (!parameter.defined() || !parameter.requires_grad()) return;
  direct_ = promised && parameter.is_leaf() && can_hold(parameter.grad(), parameter);
  buffer_ = direct_ ? parameter.grad() : at::empty(parameter.sizes(), parameter.options());
}

}  // namespace myxtts
