// SPDX-License-Identifier: Apache-2.0
#include "audio/mel_spectrogram.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "audio/exact_ops.h"
#include "base/error.h"

namespace myxtts {
namespace {

constexpr double kPowerFloor = 1e-9;

}  // namespace

at::Tensor magnitudes(const at::Tensor& waveforms, const at::Tensor& window) {
  const std::int64_t fft_size = window.size(0);
  MYXTTS_CHECK(waveforms.dim() == 2 && waveforms.size(1) > fft_size / 2,
               "a spectrum of {} samples needs [B, S] with more than {}", fft_size, fft_size / 2);
  const auto spectrum = at::stft(waveforms, fft_size, fft_size / 4, fft_size, window,
                                 /*center=*/true, /*pad_mode=*/"reflect", /*normalized=*/false,
                                 /*onesided=*/true, /*return_complex=*/true);
  return at::view_as_real(spectrum).square().sum(-1).add_(kPowerFloor).sqrt_();
}

namespace {

constexpr double kLogFloor = 1e-5;

double mel_of(double hz) {
  return 2595.0 * std::log10(1.0 + hz / 700.0);
}

}  // namespace

at::Tensor mel_window(const MelConfig& config) {
  return config.window_kind == WindowKind::Hann
             ? at::hann_window(config.window, /*periodic=*/true, at::kFloat)
             : at::hamming_window(config.window, /*periodic=*/true, at::kFloat);
}

at::Tensor mel_filters(const MelConfig& config) {
  const auto bands = config.bands;
  // coqui-tts' highest bin stands at rate / 2 rounded down.
  const auto bins = at::linspace(0, config.sample_rate / 2, config.fft_size / 2 + 1, at::kFloat);
  const auto mels =
      at::linspace(mel_of(config.low_hz), mel_of(config.high_hz), bands + 2, at::kFloat);
  const auto corners = 700.0 * (at::pow(10.0, mels / 2595.0) - 1.0);  // [bands + 2] Hz
  const auto widths = corners.narrow(0, 1, bands + 1) - corners.narrow(0, 0, bands + 1);
  const auto distance = corners.unsqueeze(0) - bins.unsqueeze(1);  // [bins, bands + 2]
  const auto rise = -distance.narrow(1, 0, bands) / widths.narrow(0, 0, bands);
  const auto fall = distance.narrow(1, 2, bands) / widths.narrow(0, 1, bands);
  const auto triangles = at::minimum(rise, fall).clamp_min(0);
  if (!config.area_normalised) return triangles;
  return triangles * (2.0 / (corners.narrow(0, 2, bands) - corners.narrow(0, 0, bands)));
}

at::Tensor normalised_log_mel(const at::Tensor& power, const at::Tensor& mel_stats) {
  return power.clamp_min(kLogFloor).log() / mel_stats.unsqueeze(-1);
}

MelSpectrogram::MelSpectrogram(const MelConfig& config, c10::Device device)
    : MelSpectrogram(config, mel_window(config).to(device), mel_filters(config).to(device)) {}

MelSpectrogram::MelSpectrogram(const MelConfig& config, at::Tensor window, at::Tensor filters)
    : config_(config), window_(std::move(window)), filters_(std::move(filters)) {}

at::Tensor MelSpectrogram::operator()(const at::Tensor& waveforms) const {
  MYXTTS_CHECK(waveforms.dim() == 2 && waveforms.size(1) >= minimum_samples(),
               "a mel spectrogram needs [B, S] with at least {} samples", minimum_samples());
  const auto reach = config_.fft_size / 2;
  if (waveforms.is_cuda()) return of_reflected(at::reflection_pad1d(waveforms, {reach, reach}));
  return mel_power(at::stft(waveforms, config_.fft_size, config_.hop, config_.window, window_,
                            /*center=*/true, /*pad_mode=*/"reflect", /*normalized=*/false,
                            /*onesided=*/true, /*return_complex=*/true));
}

at::Tensor MelSpectrogram::operator()(const at::Tensor& waveforms,
                                      const at::Tensor& lengths) const {
  MYXTTS_CHECK(waveforms.dim() == 2 && waveforms.size(1) >= minimum_samples(),
               "a mel spectrogram needs [B, S] with at least {} samples", minimum_samples());
  return of_reflected(reflected(waveforms, lengths));
}

at::Tensor MelSpectrogram::of_reflected(const at::Tensor& rows) const {
  if (rows.is_cuda()) return mel_power(transformed(rows));
  return mel_power(at::stft(rows, config_.fft_size, config_.hop, config_.window, window_,
                            /*center=*/false, /*pad_mode=*/"constant", /*normalized=*/false,
                            /*onesided=*/true, /*return_complex=*/true));
}

// What at::stft() computes, with less memory to go through: only the part of a frame that the
// window does not hide is written.
at::Tensor MelSpectrogram::transformed(const at::Tensor& rows) const {
  const auto hidden = (config_.fft_size - config_.window) / 2;       // on each side
  const auto parts = rows.unfold(1, config_.fft_size, config_.hop);  // [B, F, fft_size]
  auto frames = at::zeros(parts.sizes(), rows.options());
  auto seen = frames.narrow(2, hidden, config_.window);
  at::mul_out(seen, parts.narrow(2, hidden, config_.window), window_);
  return at::fft_rfft(frames).transpose(1, 2);  // [B, bins, F]
}

at::Tensor MelSpectrogram::frame_count(const at::Tensor& samples) const {
  return samples.div(config_.hop, "floor") + 1;
}

// Reflects each row at its own end. What stands behind the reflection belongs to no frame of the
// row.
at::Tensor MelSpectrogram::reflected(const at::Tensor& waveforms, const at::Tensor& lengths) const {
  const auto reach = config_.fft_size / 2;
  const auto offsets = at::arange(reach, lengths.options());
  const auto before_end = (lengths.unsqueeze(1) - 2 - offsets).clamp_min(0);  // [B, reach]
  auto rows = at::constant_pad_nd(waveforms, {reach, reach});
  rows.narrow(1, 0, reach).copy_(waveforms.narrow(1, 1, reach).flip(1));
  return rows.scatter(1, lengths.unsqueeze(1) + reach + offsets, waveforms.gather(1, before_end));
}

at::Tensor MelSpectrogram::mel_power(const at::Tensor& spectrum) const {
  // The absolute value of complex numbers goes through a complex tensor and back on a GPU.
  const auto power = spectrum.is_cuda()
                         ? at::hypot(at::real(spectrum), at::imag(spectrum)).square_()
                         : spectrum.abs().square();                      // [B, bins, F]
  return exact_matmul(power.transpose(1, 2), filters_).transpose(1, 2);  // [B, bands, F]
}

}  // namespace myxtts
