// SPDX-License-Identifier: Apache-2.0
#include "kernels/training/gradient_target.h"

#include <ATen/ATen.h>

namespace myxtts {
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
