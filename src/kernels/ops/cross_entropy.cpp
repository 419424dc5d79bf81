// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/cross_entropy.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/op_tensors.h"

namespace myxtts::plain {

at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits.to(at::kFloat), targets, /*weight=*/{}, at::Reduction::None,
                                kIgnoredTarget);
}

}  // namespace myxtts::plain

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

LogitRows rows_of(const at::Tensor& logits, const at::Tensor& targets) {
  return {.number = *common_number({logits}),
          .rows = logits.size(0),
          .ids = logits.size(1),
          .stride = logits.stride(0),
          .logits = pointer(logits),
          .targets = targets.data_ptr<std::int64_t>()};
}

class TokenLosses : public torch::autograd::Function<TokenLosses> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& targets) {
    const auto losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat));
    const auto log_sums = at::empty_like(losses);
    cuda_kernels(Operation::CrossEntropy)
        ->cross_entropy_forward(rows_of(logits, targets), losses.data_ptr<float>(),
                                log_sums.data_ptr<float>());
    context->save_for_backward({logits, targets, log_sums});
    return losses;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& logits = saved[0];
    const auto d_losses = gradients[0].contiguous();
    const auto d_logits =
        at::empty_strided(logits.sizes(), {logits.stride(0), 1}, logits.options());
    cuda_kernels(Operation::CrossEntropy)
        ->cross_entropy_backward(rows_of(logits, saved[1]), d_losses.data_ptr<float>(),
                                 saved[2].data_ptr<float>(), pointer(d_logits));
    return {d_logits, {}};
  }
};

bool fits(const at::Tensor& logits, const at::Tensor& targets) {
  return cuda_kernels(Operation::CrossEntropy) != nullptr && common_number({logits}).has_value() &&
         logits.numel() > 0 && logits.stride(1) == 1 && logits.stride(0) % kLogitsMultiple == 0 &&
         targets.is_contiguous();
}

}  // namespace

at::Tensor token_losses(const at::Tensor& logits, const at::Tensor& targets) {
  if (!fits(logits, targets)) return plain::token_losses(logits, targets);
  return TokenLosses::apply(logits, targets);
}

}  // namespace myxtts
