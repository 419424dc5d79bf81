// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feature_writer.h"

#include <map>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

namespace myxtts {
namespace {

void add(FeatureKeyMaker& maker, const std::string& name, const at::Tensor& tensor) {
  const auto plain = tensor.detach().cpu().contiguous();
  const auto shape = plain.sizes();
  maker.add_tensor(name, {shape.data(), shape.size()},
                   {static_cast<const std::byte*>(plain.const_data_ptr()), plain.nbytes()});
}

}  // namespace

FeatureKey model_key(const NamedTensors& dvae, const at::Tensor& mel_stats, const MelConfig& mel) {
  FeatureKeyMaker maker(mel);
  const std::map<std::string, at::Tensor> in_order(dvae.begin(), dvae.end());
  for (const auto& [name, tensor] : in_order) add(maker, name, tensor);
  add(maker, "mel_stats", mel_stats);
  return maker.key();
}

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
