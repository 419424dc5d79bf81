// SPDX-License-Identifier: Apache-2.0
#include "support/formula_weights.h"

#include <cmath>

#include <ATen/ATen.h>

namespace myxtts::test {
namespace {

std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  x ^= x >> 16;
  return x;
}

std::uint32_t crc32(std::string_view text) {
  std::uint32_t crc = 0xffffffffU;
  for (const char character : text) {
    crc ^= static_cast<unsigned char>(character);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

bool ends_with(const std::string& name, std::string_view ending) {
  return std::string_view(name).ends_with(ending);
}

// Linear and convolution weights: row sums of variance 2, as before a ReLU; but before the
// decoder's tanh small ones, since it would hide errors where it saturates.
float weight_bound(const TensorSpec& spec) {
  double fan_in = 1;
  for (std::size_t i = 1; i < spec.shape.size(); ++i) fan_in *= static_cast<double>(spec.shape[i]);
  return static_cast<float>(std::sqrt((spec.name == "conv_post.weight" ? 0.0625 : 6.0) / fan_in));
}

at::Tensor formula_weight(const TensorSpec& spec, const std::string& seed) {
  if (spec.role == TensorRole::Counter) return at::full(spec.shape, 7, at::kLong);
  const auto values = formula_values(seed + spec.name, spec.shape);
  if (ends_with(spec.name, "running_var")) return values * 0.5F + 1.0F;
  if (ends_with(spec.name, "original0")) {
    return (values * 0.25F + 1.0F) * (spec.name.starts_with("ups.") ? 2.0F : 1.25F);
  }
  if (spec.shape.size() == 1) {
    return ends_with(spec.name, ".weight") ? values * 0.25F + 1.0F : values * 0.25F;
  }
  if (spec.role == TensorRole::Buffer) return values * 8.0F;
  return values * weight_bound(spec);
}

}  // namespace

at::Tensor formula_values(std::string_view name, const std::vector<std::int64_t>& shape) {
  auto values = at::empty(shape, at::kFloat);
  auto* data = values.mutable_data_ptr<float>();
  const auto seed = mix(crc32(name));
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const auto bits = mix(static_cast<std::uint32_t>(i) * 0x9e3779b9U + seed) >> 8;
    data[i] = static_cast<float>(bits) * 0x1p-23F - 1.0F;
  }
  return values;
}

NamedTensors formula_weights(const TensorSpecs& specs, const std::string& seed) {
  NamedTensors tensors;
  for (const auto& spec : specs) {
    if (spec.init == Init::Constant && spec.source.empty()) continue;
    tensors.emplace(spec.name, formula_weight(spec, seed));
  }
  return tensors;
}

}  // namespace myxtts::test
