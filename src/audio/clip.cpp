// SPDX-License-Identifier: Apache-2.0
#include "audio/clip.h"

#include <ATen/ATen.h>

#include "audio/resample.h"
#include "audio/resampled_length.h"
#include "base/error.h"

namespace myxtts {

at::Tensor mix_down(const AudioData& audio) {
  auto samples = at::empty({audio.frames(), audio.channels}, at::kFloat);
  std::copy(audio.samples.begin(), audio.samples.end(), samples.mutable_data_ptr<float>());
  return audio.channels == 1 ? samples.squeeze(1) : samples.t().contiguous().mean(0);
}

at::Tensor read_clip(const std::filesystem::path& path, std::int64_t sample_rate) {
  const auto audio = read_audio(path);
  if (resampled_length(audio.frames(), audio.sample_rate, sample_rate) > kMaxAudioSamples) {
    throw DataError(fmt::format("{} is too long: at {} Hz it would have more than {} samples.",
                                path.string(), sample_rate, kMaxAudioSamples));
  }
  const Resampler resample(audio.sample_rate, sample_rate, at::kCPU);
  return resample(mix_down(audio)).clamp(-1.0, 1.0);
}

}  // namespace myxtts
