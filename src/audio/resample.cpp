// SPDX-License-Identifier: Apache-2.0
#include "audio/resample.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "audio/exact_ops.h"
#include "audio/phase_filter.h"
#include "base/error.h"

namespace myxtts {
namespace {

constexpr double kZeroCrossings = 6.0;  // of the sinc, on each side
constexpr double kRolloff = 0.99;       // cut-off as a part of the lower rate

constexpr std::int64_t kPiece = 32'768;  // outputs that are worth a thread

constexpr std::int64_t kLargestKernel = std::int64_t{1} << 24;  // values, 64 MiB

double cutoff_of(std::int64_t from, std::int64_t to) {
  return static_cast<double>(std::min(from, to)) * kRolloff;
}

// The windowed sinc of phase p at tap q, for `phases` [to, 1...] holding -p and `taps` holding q.
// In fp32 throughout: a kernel made in double and rounded differs by 9e-5 on unit noise from
// coqui-tts'.
at::Tensor windowed_sinc(const at::Tensor& phases, const at::Tensor& taps, std::int64_t from,
                         std::int64_t to) {
  const double cutoff = cutoff_of(from, to);
  auto t = ((phases / to + taps / from) * cutoff).clamp(-kZeroCrossings, kZeroCrossings);
  const auto window = at::cos(t * std::numbers::pi / kZeroCrossings / 2).square();
  t = t * std::numbers::pi;
  const auto sinc = at::where(t == 0, at::ones({}, at::kFloat), at::sin(t) / t);
  return sinc * (window * (cutoff / static_cast<double>(from)));
}

std::shared_ptr<const PhaseFilter> make_filter(std::int64_t from, std::int64_t reach,
                                               const at::Tensor& starts,
                                               const at::Tensor& weights) {
  const auto* first = starts.const_data_ptr<std::int64_t>();
  const auto plain = weights.contiguous();
  return std::make_shared<const PhaseFilter>(
      from, reach, std::vector<std::int64_t>(first, first + starts.numel()),
      std::span(plain.const_data_ptr<float>(), static_cast<std::size_t>(plain.numel())));
}

}  // namespace

Resampler::Resampler(std::int64_t from_rate, std::int64_t to_rate, c10::Device device) {
  MYXTTS_CHECK(from_rate > 0 && to_rate > 0, "cannot resample from {} Hz to {} Hz", from_rate,
               to_rate);
  const auto divisor = std::gcd(from_rate, to_rate);
  from_ = from_rate / divisor;
  to_ = to_rate / divisor;
  if (from_ == to_) return;
  reach_ = static_cast<std::int64_t>(
      std::ceil(kZeroCrossings * static_cast<double>(from_) / cutoff_of(from_, to_)));
  const auto phases = at::arange(0, -to_, -1, at::kFloat);
  const auto nearest = (at::arange(to_, at::kLong) * from_).div(to_, "floor");
  const auto near = nearest.unsqueeze(1) + at::arange(-reach_, reach_ + 2, at::kLong);
  const auto near_kernel = windowed_sinc(phases.unsqueeze(1), near.to(at::kFloat), from_, to_);
  if (device.is_cpu()) filter_ = make_filter(from_, reach_, nearest, near_kernel);

  if (to_ * (from_ + 2 * reach_) <= kLargestKernel) {
    const auto taps = at::arange(-reach_, reach_ + from_, at::kFloat);
    kernel_ = windowed_sinc(phases.view({-1, 1, 1}), taps, from_, to_).to(device);
  } else {
    kernel_ = near_kernel.to(device);
    starts_ = nearest.to(device);
  }
}

std::int64_t Resampler::resampled_length(std::int64_t samples) const {
  return myxtts::resampled_length(samples, from_, to_);
}

at::Tensor Resampler::operator()(const at::Tensor& waveforms) const {
  MYXTTS_CHECK(waveforms.scalar_type() == at::kFloat && waveforms.dim() >= 1,
               "the resampler takes fp32 waveforms");
  if (from_ == to_) return waveforms;
  const auto samples = waveforms.size(-1);
  auto shape = waveforms.sizes().vec();
  shape.back() = resampled_length(samples);
  const bool wants_gradient = at::GradMode::is_enabled() && waveforms.requires_grad();
  if (filter_ != nullptr && !wants_gradient) {
    return filter(waveforms.reshape({-1, samples}).contiguous()).view(shape);
  }
  const auto rows =
      at::constant_pad_nd(waveforms.reshape({-1, samples}), {reach_, reach_ + 2 * from_});
  return (starts_.defined() ? add_taps(rows) : convolve(rows))
      .reshape({rows.size(0), -1})
      .narrow(1, 0, shape.back())
      .reshape(shape);
}

at::Tensor Resampler::filter(const at::Tensor& rows) const {  // [rows, resampled_length]
  const auto samples = rows.size(1);
  auto result = at::empty({rows.size(0), resampled_length(samples)}, rows.options());
  for (std::int64_t row = 0; row < rows.size(0); ++row) {
    const std::span input(rows.const_data_ptr<float>() + row * samples,
                          static_cast<std::size_t>(samples));
    float* output = result.mutable_data_ptr<float>() + row * result.size(1);
    at::parallel_for(0, result.size(1), kPiece, [&](std::int64_t first, std::int64_t last) {
      filter_->apply(input, first, std::span(output + first, output + last));
    });
  }
  return result;
}

// Gives [rows, blocks, to]: each block of `from` samples becomes `to` samples.
at::Tensor Resampler::convolve(const at::Tensor& rows) const {
  return exact_conv1d(rows.unsqueeze(1), kernel_, {}, from_).transpose(1, 2);
}

at::Tensor Resampler::add_taps(const at::Tensor& rows) const {
  const auto taps = kernel_.size(1);
  const auto blocks = (rows.size(1) - taps) / from_;
  auto sum = at::zeros({rows.size(0), blocks, to_}, rows.options());
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const auto shifted = rows.narrow(1, tap, blocks * from_).view({rows.size(0), blocks, from_});
    sum.addcmul_(shifted.index_select(2, starts_), kernel_.select(1, tap));
  }
  return sum;
}

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
