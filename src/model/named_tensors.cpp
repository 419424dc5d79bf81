// SPDX-License-Identifier: Apache-2.0
#include "model/named_tensors.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "base/error.h"

namespace myxtts {

std::span<float> values_of(at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

TensorScope::TensorScope(const NamedTensors& tensors, std::string prefix)
    : tensors_(tensors), prefix_(std::move(prefix)) {}

const at::Tensor& TensorScope::operator[](std::string_view name) const {
  const auto found = tensors_.find(prefix_ + std::string(name));
  MYXTTS_CHECK(found != tensors_.end(), "no tensor {}{} to build a network on", prefix_, name);
  return found->second;
}

TensorScope TensorScope::part(std::string_view name) const {
  return TensorScope(tensors_, prefix_ + std::string(name) + ".");
}

NamedTensors on_device(const NamedTensors& tensors, c10::Device device, std::string_view prefix) {
  NamedTensors moved;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) moved.emplace(name, tensor.to(device));
  }
  return moved;
}

namespace {

// FNV-1a over the name, started from the seed.
std::uint64_t seed_of(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ (seed * 0x9e3779b97f4a7c15U);
  for (const char character : name) {
    hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3U;
  }
  return hash;
}

double fan_out(const TensorSpec& spec) {
  double outputs = static_cast<double>(spec.shape[0]);
  for (std::size_t i = 2; i < spec.shape.size(); ++i) outputs *= static_cast<double>(spec.shape[i]);
  return outputs;
}

// [rows, 2 · frequencies]: neighbouring rows differ little, far ones much.
at::Tensor waves(const TensorSpec& spec) {
  const std::int64_t frequencies = spec.shape[1] / 2;
  const auto rows = at::arange(spec.shape[0], at::kDouble) * spec.scale;
  const auto falling = at::pow(1e4, at::arange(frequencies, at::kDouble) / -frequencies);
  const auto angles = at::outer(rows, falling);
  return at::stack({angles.sin(), angles.cos()}, 2).view(spec.shape).to(at::kFloat);
}

at::Tensor fill(const TensorSpec& spec, std::uint64_t seed) {
  const auto type = spec.role == TensorRole::Counter ? at::kLong : at::kFloat;
  auto tensor = at::zeros(spec.shape, type);
  const auto generator = at::detail::createCPUGenerator(seed_of(spec.name, seed));
  switch (spec.init) {
    case Init::Ones:
      return tensor.fill_(1);
    case Init::Normal:
      return tensor.normal_(0.0, spec.scale, generator);
    case Init::Uniform:
      return tensor.uniform_(-spec.scale, spec.scale, generator);
    case Init::Waves:
      return waves(spec);
    case Init::KaimingFanOut:
      return tensor.normal_(0.0, std::sqrt(2.0 / fan_out(spec)), generator);
    default:
      return tensor;
  }
}

// Values that follow from another tensor's.
at::Tensor derive(const TensorSpec& spec, const at::Tensor& source) {
  if (spec.init == Init::CopyOf) return source.clone();
  return source.flatten(1).norm(2, 1).view(spec.shape);
}

bool is_derived(const TensorSpec& spec) {
  return spec.init == Init::CopyOf || (spec.init == Init::Constant && !spec.source.empty());
}

}  // namespace

NamedTensors initialise(const TensorSpecs& specs, std::uint64_t seed, c10::Device device) {
  NamedTensors tensors;
  for (const auto& spec : specs) {
    if (is_derived(spec) || spec.init == Init::Constant) continue;
    tensors.emplace(spec.name, fill(spec, seed).to(device));
  }
  for (const auto& spec : specs) {
    if (!is_derived(spec)) continue;
    const auto source = tensors.find(spec.source);
    MYXTTS_CHECK(source != tensors.end(), "{} is made from {}, which is not there", spec.name,
                 spec.source);
    tensors.emplace(spec.name, derive(spec, source->second));
  }
  return tensors;
}

namespace {

constexpr double kRounding = 1e-6;  // of sums, which machines make in different orders

bool is_as_derived(const TensorSpec& spec, const at::Tensor& tensor, const at::Tensor& source) {
  return tensor.allclose(derive(spec, source), kRounding, 0.0);
}

bool is_as_filled(const TensorSpec& spec, const at::Tensor& tensor) {
  switch (spec.init) {
    case Init::Zeros:
      return tensor.eq(0).all().item<bool>();
    case Init::Ones:
      return tensor.eq(1).all().item<bool>();
    case Init::Uniform:
      return tensor.abs().le(spec.scale * (1 + kRounding)).all().item<bool>();
    default:
      return true;
  }
}

}  // namespace

bool is_as_initialised(const TensorSpecs& specs, const NamedTensors& tensors) {
  const TensorScope all(tensors);
  return std::ranges::all_of(specs, [&all](const TensorSpec& spec) {
    if (spec.role == TensorRole::Counter) return true;  // older files have none
    if (is_derived(spec)) return is_as_derived(spec, all[spec.name], all[spec.source]);
    return is_as_filled(spec, all[spec.name]);
  });
}

}  // namespace myxtts
