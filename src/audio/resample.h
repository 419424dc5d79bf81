// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/audio_file.h"
#include "audio/phase_filter.h"

namespace myxtts {

// Changes the sample rate with a Hann-windowed sinc as a polyphase filter, equal to torchaudio's
// `resample` with its defaults. The filter is made once, on the device it is used on.
//
// Every usual pair of rates has a large common divisor, and one strided convolution does the work.
// Pairs without one (44,101 Hz to 22,050 Hz) would need gigabytes for its kernel, nearly all zeros;
// for those only the taps near each output sample are kept, and added up one after another. On the
// CPU a PhaseFilter does the work where no gradient is wanted.
//
// Any thread may call a resampler; nothing waits for the device.
class Resampler {
 public:
  Resampler(std::int64_t from_rate, std::int64_t to_rate, c10::Device device);

  // Takes fp32 waveforms [..., S] and gives [..., resampled_length(S)].
  at::Tensor operator()(const at::Tensor& waveforms) const;

  // How many samples come out of `samples`.
  std::int64_t resampled_length(std::int64_t samples) const;

 private:
  at::Tensor filter(const at::Tensor& rows) const;
  at::Tensor convolve(const at::Tensor& rows) const;
  at::Tensor add_taps(const at::Tensor& rows) const;

  std::int64_t from_;  // both divided by their greatest common divisor
  std::int64_t to_;
  std::int64_t reach_;  // taps on each side
  at::Tensor kernel_;   // [to_, 1, 2 * reach_ + from_], or the taps near each phase [to_, taps]
  at::Tensor starts_;   // [to_] where each phase's taps begin; undefined with the whole kernel
  std::shared_ptr<const PhaseFilter> filter_;  // on the CPU: the same without the zeros
};

// The mean of all channels, [S] fp32 on the CPU.
at::Tensor mix_down(const AudioData& audio);

// A clip as the networks take it: read, mixed down, resampled to `sample_rate` and then clipped to
// ±1; [S] fp32 on the CPU. Throws DataError, see read_audio.
at::Tensor read_clip(const std::filesystem::path& path, std::int64_t sample_rate);

}  // namespace myxtts
