// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/model.h"
#include "data/cache/feature_cache.h"
#include "data/cache/feature_key.h"
#include "data/clip_decoder.h"
#include "model/dvae.h"
#include "model/named_tensors.h"
#include "pipeline/clip_features.h"

namespace myxtts {

// The key of what a model makes of clips: the content of its DVAE, mel_stats and the mel settings.
// Reads every weight once; tensors on a device are copied to the CPU for it.
FeatureKey model_key(const NamedTensors& dvae, const at::Tensor& mel_stats,
                     const MelConfig& mel = dvae_mel_config());

// Fills a feature cache with what a run would compute of the same clips. Any thread may add; one at
// a time computes.
class FeatureWriter {
 public:
  // Copies the weights to `device`; the cache outlives this.
  FeatureWriter(const DvaeConfig& config, const NamedTensors& dvae, const at::Tensor& mel_stats,
                c10::Device device, FeatureCache& cache);

  // Gives whether the clip is in the cache now. Waits for the device.
  bool add(std::uint64_t identity, const DecodedClip& clip);

 private:
  const c10::Device device_;
  FeatureCache& cache_;
  const Dvae dvae_;
  std::mutex mutex_;
  ClipFeatures features_;  // guarded by mutex_
};

}  // namespace myxtts
