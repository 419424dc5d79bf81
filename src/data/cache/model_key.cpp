// SPDX-License-Identifier: Apache-2.0
#include "data/cache/model_key.h"

#include <map>
#include <string>

#include <ATen/ATen.h>

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

}  // namespace myxtts
