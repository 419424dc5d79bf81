// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feature_writer.h"

#include <span>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

namespace myxtts {
namespace {

NamedTensors on_device(const NamedTensors& tensors, c10::Device device) {
  NamedTensors moved;
  for (const auto& [name, tensor] : tensors) moved.emplace(name, tensor.to(device));
  return moved;
}

}  // namespace

FeatureWriter::FeatureWriter(const DvaeConfig& config, const NamedTensors& dvae,
                             const at::Tensor& mel_stats, c10::Device device, FeatureCache& cache)
    : device_(device),
      cache_(cache),
      dvae_(config, on_device(dvae, device)),
      features_(dvae_, mel_stats.to(device), device) {}

bool FeatureWriter::add(std::uint64_t identity, const DecodedClip& clip) {
  if (cache_.contains(identity) && cache_.find(identity)) return true;
  if (!cache_.accepts_more()) return false;
  const c10::AutoGradMode no_gradients(false);
  auto* data = const_cast<std::int16_t*>(clip.samples.data());
  const auto count = static_cast<std::int64_t>(clip.samples.size());
  const ClipSound sound{.samples = at::from_blob(data, {count}, at::kShort).to(device_),
                        .rate = clip.sample_rate};
  at::Tensor samples;
  at::Tensor codes;
  {
    const std::lock_guard lock(mutex_);
    const auto result = features_.encode(std::span(&sound, 1)).front();
    samples = result.samples.cpu().contiguous();
    codes = result.codes.cpu().contiguous();
  }
  const auto* first = codes.const_data_ptr<std::int64_t>();
  const std::vector<std::uint16_t> small(first, first + codes.numel());
  return cache_.add(
      identity, {samples.const_data_ptr<std::int16_t>(), static_cast<std::size_t>(samples.numel())},
      small);
}

}  // namespace myxtts
