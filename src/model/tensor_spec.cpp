// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

namespace myxtts {
namespace {

// One over the root of the number of inputs that each output sums over.
double default_bound(const std::vector<std::int64_t>& shape) {
  const auto fan_in =
      std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
  return 1.0 / std::sqrt(static_cast<double>(fan_in));
}

// One length for each slice of the first dimension.
std::vector<std::int64_t> gain_shape(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> gains(shape.size(), 1);
  gains[0] = shape[0];
  return gains;
}

}  // namespace

void append_layer_without_bias(TensorSpecs& specs, const std::string& name,
                               const std::vector<std::int64_t>& shape,
                               const std::string& explained_by) {
  specs.push_back({.name = name + ".weight",
                   .shape = shape,
                   .init = Init::Uniform,
                   .scale = default_bound(shape),
                   .explained_by = explained_by});
}

void append_layer(TensorSpecs& specs, const std::string& name,
                  const std::vector<std::int64_t>& shape, const std::string& explained_by) {
  append_layer_without_bias(specs, name, shape, explained_by);
  specs.push_back({.name = name + ".bias",
                   .shape = {shape[0]},
                   .init = Init::Uniform,
                   .scale = default_bound(shape),
                   .explained_by = explained_by});
}

void append_weight_normed(TensorSpecs& specs, const std::string& name,
                          const std::vector<std::int64_t>& shape, const std::string& explained_by,
                          std::int64_t outputs) {
  const std::string direction = name + ".parametrizations.weight.original1";
  specs.push_back({.name = name + ".bias",
                   .shape = {outputs},
                   .init = Init::Uniform,
                   .scale = default_bound(shape),
                   .explained_by = explained_by});
  specs.push_back({.name = name + ".parametrizations.weight.original0",
                   .shape = gain_shape(shape),
                   .init = Init::Constant,
                   .explained_by = explained_by,
                   .source = direction});
  specs.push_back({.name = direction,
                   .shape = shape,
                   .init = Init::Uniform,
                   .scale = default_bound(shape),
                   .explained_by = explained_by});
}

void append_batch_norm(TensorSpecs& specs, const std::string& name, std::int64_t channels,
                       const std::string& explained_by) {
  const auto append = [&](const char* what, Init init, TensorRole role) {
    specs.push_back({.name = name + what,
                     .shape = {channels},
                     .init = init,
                     .role = role,
                     .explained_by = explained_by});
  };
  append(".weight", Init::Ones, TensorRole::Parameter);
  append(".bias", Init::Zeros, TensorRole::Parameter);
  append(".running_mean", Init::Zeros, TensorRole::Buffer);
  append(".running_var", Init::Ones, TensorRole::Buffer);
  specs.push_back({.name = name + ".num_batches_tracked",
                   .shape = {},
                   .init = Init::Zeros,
                   .role = TensorRole::Counter});
}

std::int64_t parameter_count(const TensorSpecs& specs) {
  std::int64_t count = 0;
  for (const auto& spec : specs) {
    if (spec.role != TensorRole::Parameter) continue;
    count +=
        std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  return count;
}

bool decays(std::string_view name) {
  constexpr std::array<std::string_view, 7> kKept = {
      ".bias",       ".norm.weight",      "ln_1.weight",     "ln_2.weight",
      "ln_f.weight", "final_norm.weight", "embedding.weight"};
  const bool is_position = name.ends_with("pos_embedding.emb.weight");
  return !is_position &&
         std::ranges::none_of(kKept, [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace myxtts
