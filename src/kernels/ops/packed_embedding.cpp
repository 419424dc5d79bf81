// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/packed_embedding.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/op_tensors.h"

namespace myxtts::plain {

at::Tensor packed_embedding(const EmbeddingWeights& weights, const at::Tensor& tokens,
                            const at::Tensor& positions, double dropout) {
  const auto table = at::cat({weights.text, weights.codes, weights.latents});
  const auto nowhere = at::zeros({1, table.size(1)}, table.options());
  const auto places = at::cat({nowhere, weights.text_positions, weights.code_positions});
  const auto sum = at::embedding(table, tokens) + at::embedding(places, positions);
  return dropout > 0.0 ? plain::dropout(sum, dropout) : sum;
}

}  // namespace myxtts::plain

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The tables in the order they are saved in.
variable_list as_list(const EmbeddingWeights& weights) {
  return {weights.text, weights.codes, weights.latents, weights.text_positions,
          weights.code_positions};
}

EmbeddingShape shape_of(const variable_list& tables, const at::Tensor& tokens,
                        const at::Tensor& positions) {
  return {.number = *common_number({tables[0]}),
          .rows = tokens.size(0),
          .width = tables[0].size(1),
          .text_ids = tables[0].size(0),
          .code_ids = tables[1].size(0),
          .latent_rows = tables[2].size(0),
          .text_positions = tables[3].size(0),
          .code_positions = tables[4].size(0),
          .tokens = tokens.data_ptr<std::int64_t>(),
          .positions = positions.data_ptr<std::int64_t>()};
}

class PackedEmbedding : public torch::autograd::Function<PackedEmbedding> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& text,
                            const at::Tensor& codes, const at::Tensor& latents,
                            const at::Tensor& text_positions, const at::Tensor& code_positions,
                            const at::Tensor& tokens, const at::Tensor& positions, double dropout) {
    const variable_list tables = {text, codes, latents, text_positions, code_positions};
    const auto out = at::empty({tokens.size(0), text.size(1)}, text.options());
    at::Tensor kept;
    if (dropout > 0.0) {
      kept = at::empty({out.size(0), out.size(1) / 8}, out.options().dtype(at::kByte));
    }
    cuda_kernels(Operation::Embedding)
        ->embedding_forward(shape_of(tables, tokens, positions),
                            {pointer(text), pointer(codes), pointer(latents),
                             pointer(text_positions), pointer(code_positions)},
                            dropout, pointer(out), static_cast<std::uint8_t*>(pointer(kept)));
    context->save_for_backward(
        {text, codes, latents, text_positions, code_positions, tokens, positions, kept});
    context->saved_data["dropout"] = dropout;
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const bool promised = context->saved_data["promised"].toBool();
    const auto d_out = gradients[0].contiguous();
    std::vector<GradientTarget> targets;
    for (std::size_t i = 0; i < 5; ++i) targets.emplace_back(saved[i], promised);
    cuda_kernels(Operation::Embedding)
        ->embedding_backward(shape_of(saved, saved[5], saved[6]), pointer(d_out),
                             static_cast<const std::uint8_t*>(pointer(saved[7])),
                             context->saved_data["dropout"].toDouble(),
                             {targets[0].data(), targets[1].data(), targets[2].data(),
                              targets[3].data(), targets[4].data()});
    variable_list result;
    for (const auto& target : targets) result.push_back(target.for_autograd());
    result.resize(8);
    return result;
  }
};

bool fits(const EmbeddingWeights& weights, const at::Tensor& tokens, const at::Tensor& positions) {
  for (const auto& table : as_list(weights)) {
    if (!table.is_contiguous()) return false;
  }
  return cuda_kernels(Operation::Embedding) != nullptr &&
         common_number({weights.text, weights.codes, weights.latents, weights.text_positions,
                        weights.code_positions})
             .has_value() &&
         tokens.numel() > 0 && tokens.is_contiguous() && positions.is_contiguous() &&
         weights.text.size(1) % kEmbeddingMultiple == 0;
}

}  // namespace

at::Tensor packed_embedding(const EmbeddingWeights& weights, const at::Tensor& tokens,
                            const at::Tensor& positions, double dropout) {
  if (!fits(weights, tokens, positions)) {
    return plain::packed_embedding(weights, tokens, positions, dropout);
  }
  return PackedEmbedding::apply(weights.text, weights.codes, weights.latents,
                                weights.text_positions, weights.code_positions, tokens, positions,
                                dropout);
}

}  // namespace myxtts
