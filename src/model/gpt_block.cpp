// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_block.h"

#include <mutex>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/ops/dropout.h"
#include "model/attention.h"

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Part = std::function<TensorPair(const TensorPair&)>;

// What a backward pass needs to compute the part again.
struct Again : torch::CustomClassHolder {
  Again(Part wanted, std::function<void()> back)
      : part(std::move(wanted)), go_back(std::move(back)) {}

  const Part part;
  const std::function<void()> go_back;
};

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  // `tie` requires a gradient, so that there is a backward pass even where nothing else does.
  static variable_list forward(AutogradContext* context, const at::Tensor& first,
                               const at::Tensor& second, const at::Tensor& tie,
                               const c10::intrusive_ptr<Again>& again) {
    (void)tie;
    context->save_for_backward({first, second});
    context->saved_data["again"] = c10::IValue::make_capsule(again);
    const auto out = again->part({first, second});
    return {out.first, out.second};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto again =
        c10::static_intrusive_pointer_cast<Again>(context->saved_data["again"].toCapsule());
    variable_list in;
    for (const auto& saved : context->get_saved_variables()) {
      in.push_back(saved.detach().set_requires_grad(true));
    }
    TensorPair out;
    {
      const at::AutoGradMode recording(true);
      again->go_back();
      out = again->part({in[0], in[1]});
    }
    torch::autograd::backward({out.first, out.second}, gradients);
    return {in[0].grad(), in[1].grad(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

RememberRandom remember_generator(const at::Generator& given) {
  return [given] {
    auto generator = given;
    const std::lock_guard lock(generator.mutex());
    return [generator, state = generator.get_state()]() mutable {
      const std::lock_guard again(generator.mutex());
      generator.set_state(state);
    };
  };
}

TensorPair recomputed(const Part& part, const TensorPair& in, const RememberRandom& remember) {
  if (!at::GradMode::is_enabled()) return part(in);
  const auto tie = at::zeros({}, in.first.options()).set_requires_grad(true);
  // Autograd takes no undefined tensor: the tie stands in its place, and the part does not see it.
  const bool alone = !in.second.defined();
  const Part whole = [part, alone](const TensorPair& both) {
    return part({both.first, alone ? at::Tensor() : both.second});
  };
  const auto out = Recomputed::apply(in.first, alone ? tie : in.second, tie,
                                     c10::make_intrusive<Again>(whole, remember()));
  return {out.at(0), out.at(1)};
}

at::Tensor ResidualStream::add_and_norm(const NormWeights& norm, double dropout) {
  if (!pending.rows.defined()) return layer_norm(x, norm);
  auto both = residual_norm(x, pending, norm, dropout);
  x = std::move(both.sum);
  pending = {};
  return both.normed;
}

at::Tensor ResidualStream::sum(double dropout) const {
  if (!pending.rows.defined()) return x;
  const auto branch = pending.with_bias_gradient();
  return x + (dropout > 0.0 ? plain::dropout(branch, dropout) : branch);
}

GptBlock::GptBlock(std::int64_t heads, const TensorScope& scope)
    : heads_(heads),
      before_attention_(norm_weights(scope.part("ln_1"))),
      qkv_(linear_weights(scope.part("attn.c_attn"), WeightLayout::InOut)),
      attention_out_(linear_weights(scope.part("attn.c_proj"), WeightLayout::InOut)),
      before_mlp_(norm_weights(scope.part("ln_2"))),
      mlp_in_(linear_weights(scope.part("mlp.c_fc"), WeightLayout::InOut)),
      mlp_out_(linear_weights(scope.part("mlp.c_proj"), WeightLayout::InOut)) {}

ResidualStream GptBlock::operator()(ResidualStream stream, const GptBatch& batch, double dropout,
                                    at::Tensor* qkv) const {
  const auto seen = stream.add_and_norm(before_attention_, dropout);
  const Projection asked = project(seen, qkv_);
  if (qkv != nullptr) *qkv = asked.rows;
  const auto mixed = packed_attention(asked, heads_, batch, dropout);
  stream.pending = project(mixed, attention_out_);
  const auto attended = stream.add_and_norm(before_mlp_, dropout);
  stream.pending = gelu_mlp(attended, mlp_in_, mlp_out_);
  return stream;
}

}  // namespace myxtts
