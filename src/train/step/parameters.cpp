// SPDX-License-Identifier: Apache-2.0
#include "train/step/parameters.h"

#include <utility>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "kernels/adamw/adamw.h"
#include "model/tensor_spec.h"
#include "train/frozen.h"

namespace myxtts {
namespace {

std::int64_t aligned(std::int64_t count) {
  return (count + kAdamWAlignment - 1) / kAdamWAlignment * kAdamWAlignment;
}

std::int64_t numbers_in(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

}  // namespace

ParameterLayout lay_out(const TensorSpecs& specs, const std::string& prefix,
                        const std::set<std::string, std::less<>>& frozen) {
  enum Group { Decayed, Kept, Frozen };
  const auto group_of = [&](const TensorSpec& spec) {
    if (spec.role != TensorRole::Parameter || frozen.contains(prefix + spec.name)) return Frozen;
    return decays(spec.name) ? Decayed : Kept;
  };
  ParameterLayout layout;
  for (const Group group : {Decayed, Kept, Frozen}) {
    for (const auto& spec : specs) {
      if (spec.role == TensorRole::Counter || group_of(spec) != group) continue;
      layout.places.push_back({.name = prefix + spec.name,
                               .shape = spec.shape,
                               .first = layout.total,
                               .count = numbers_in(spec.shape),
                               .trained = group != Frozen});
      layout.total += aligned(layout.places.back().count);
    }
    if (group == Decayed) layout.decayed = layout.total;
    if (group == Kept) layout.trained = layout.total;
  }
  return layout;
}

std::set<std::string, std::less<>> frozen_parameters(const TensorSpecs& specs,
                                                     const std::string& prefix,
                                                     std::span<const std::string> patterns) {
  std::vector<std::string> names;
  for (const auto& spec : specs) {
    if (spec.role == TensorRole::Parameter) names.push_back(prefix + spec.name);
  }
  return frozen_names(names, patterns);
}

at::Tensor part_of(const at::Tensor& flat, const ParameterPlace& place) {
  return flat.narrow(0, place.first, place.count).view(place.shape);
}

const at::Tensor& find_tensor(const NamedTensors& tensors, const std::string& name,
                              at::IntArrayRef shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw DataError(fmt::format("There is no tensor {}.", name));
  if (found->second.sizes() != shape) {
    throw DataError(fmt::format("The tensor {} has the shape [{}] and not [{}].", name,
                                fmt::join(found->second.sizes(), ", "), fmt::join(shape, ", ")));
  }
  return found->second;
}

Parameters::Parameters(ParameterLayout layout, const NamedTensors& weights, c10::Device device,
                       at::ScalarType dtype, bool fixed_gradients)
    : layout_(std::move(layout)) {
  const auto options = at::TensorOptions(device);
  weights_ = at::zeros({layout_.total}, options.dtype(at::kFloat));
  if (dtype != at::kFloat) copy_ = at::zeros({layout_.total}, options.dtype(dtype));
  if (fixed_gradients) gradients_ = at::zeros({layout_.trained}, options.dtype(dtype));
  for (const auto& place : layout_.places) {
    // tensor_data(): a tensor of its own on the same memory, as a leaf must not be a view.
    auto tensor = part_of(copy_.defined() ? copy_ : weights_, place).tensor_data();
    tensor.set_requires_grad(place.trained);
    if (place.trained && fixed_gradients) tensor.mutable_grad() = part_of(gradients_, place);
    tensors_.emplace(place.name, tensor);
  }
  load(weights);
}

NamedTensors Parameters::named_weights() const {
  NamedTensors named;
  for (const auto& place : layout_.places) named.emplace(place.name, part_of(weights_, place));
  return named;
}

void Parameters::load(const NamedTensors& weights) {
  const at::NoGradGuard no_grad;
  for (const auto& place : layout_.places) {
    part_of(weights_, place).copy_(find_tensor(weights, place.name, place.shape));
  }
  refresh_copy();
}

void Parameters::refresh_copy() {
  const at::NoGradGuard no_grad;
  if (copy_.defined()) copy_.copy_(weights_);
}

}  // namespace myxtts
