// SPDX-License-Identifier: Apache-2.0
#include "model/recompute.h"

#include <mutex>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Part = std::function<at::Tensor(const at::Tensor&)>;

// What a backward pass needs to compute the part again.
struct Again : torch::CustomClassHolder {
  Again(Part wanted, std::function<void()> back)
      : part(std::move(wanted)), go_back(std::move(back)) {}

  const Part part;
  const std::function<void()> go_back;
};

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  // `tie` requires a gradient, so that there is a backward pass even where x does not.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& tie,
                            const c10::intrusive_ptr<Again>& again) {
    (void)tie;
    context->save_for_backward({x});
    context->saved_data["again"] = c10::IValue::make_capsule(again);
    return again->part(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto again =
        c10::static_intrusive_pointer_cast<Again>(context->saved_data["again"].toCapsule());
    const auto saved = context->get_saved_variables().at(0);
    auto x = saved.detach();
    x.set_requires_grad(context->needs_input_grad(0));
    at::Tensor y;
    {
      const at::AutoGradMode recording(true);
      again->go_back();
      y = again->part(x);
    }
    torch::autograd::backward({y}, {gradients.at(0)});
    return {x.grad(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

RememberRandom remember_generator(c10::Device device) {
  return [device] {
    auto generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard lock(generator.mutex());
    return [generator, state = generator.get_state()]() mutable {
      const std::lock_guard again(generator.mutex());
      generator.set_state(state);
    };
  };
}

at::Tensor recomputed(const Part& part, const at::Tensor& x, const RememberRandom& remember) {
  if (!at::GradMode::is_enabled()) return part(x);
  const auto tie = at::zeros({}, x.options()).set_requires_grad(true);
  return Recomputed::apply(x, tie, c10::make_intrusive<Again>(part, remember()));
}

}  // namespace myxtts
