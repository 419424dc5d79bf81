// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/model.h"

namespace myxtts {

// The magnitudes [B, fft_size / 2 + 1, S / hop + 1] of waveforms [B, S], S > fft_size / 2, under
// `window` [fft_size]; the hop is a quarter of it. Frames are centred and the sound is reflected at
// its ends. Gradients pass, and are finite in silence too: the smallest magnitude is 3e-5.
at::Tensor magnitudes(const at::Tensor& waveforms, const at::Tensor& window);

// Turns waveforms into mel power spectrograms, equal to torchaudio's. Its tables are made once, on
// the device it is used on.
//
// Any thread may call it; nothing waits for the device and no shape depends on data.
class MelSpectrogram {
 public:
  MelSpectrogram(const MelConfig& config, c10::Device device);

  // With the tables that came with a network: window [window], filters [fft_size / 2 + 1, bands].
  MelSpectrogram(const MelConfig& config, at::Tensor window, at::Tensor filters);

  // Takes fp32 waveforms [B, S], S >= minimum_samples(), and gives [B, bands, frame_count(S)].
  at::Tensor operator()(const at::Tensor& waveforms) const;

  // The same for rows padded to one length: row b has lengths[b] samples (int64, on the waveforms'
  // device) and gets the frames it would get alone, whatever stands behind its end. Frames beyond
  // frame_count(lengths[b]) have no meaning; mask them.
  at::Tensor operator()(const at::Tensor& waveforms, const at::Tensor& lengths) const;

  // The same for rows whose samples were already reflected: frame f is made of the samples
  // [hop · f, hop · f + fft_size). Several waveforms may lie in a row one after another.
  at::Tensor of_reflected(const at::Tensor& rows) const;

  std::int64_t frame_count(std::int64_t samples) const { return samples / config_.hop + 1; }
  at::Tensor frame_count(const at::Tensor& samples) const;  // [B] to [B]

  // The reflection at the ends needs this many.
  std::int64_t minimum_samples() const { return config_.fft_size / 2 + 1; }

 private:
  at::Tensor reflected(const at::Tensor& waveforms, const at::Tensor& lengths) const;
  at::Tensor transformed(const at::Tensor& rows) const;
  at::Tensor mel_power(const at::Tensor& spectrum) const;

  MelConfig config_;
  at::Tensor window_;   // [window]
  at::Tensor filters_;  // [bins, bands]
};

// The window of `config`, [window], on the CPU.
at::Tensor mel_window(const MelConfig& config);

// Triangles equally spaced in 2595 log10(1 + f / 700), [fft_size / 2 + 1, bands], on the CPU.
at::Tensor mel_filters(const MelConfig& config);

// ln(max(power, 1e-5)) / mel_stats for power [B, bands, F] and mel_stats [bands]: the scale in
// which DVAE and GPT see a mel spectrogram.
at::Tensor normalised_log_mel(const at::Tensor& power, const at::Tensor& mel_stats);

}  // namespace myxtts
