// SPDX-License-Identifier: Apache-2.0
#include "pipeline/prompt_mels.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "base/error.h"
#include "config/model.h"
#include "kernels/mel/sound_mel.h"

namespace myxtts {
namespace {

constexpr double kSampleScale = 32768.0;  // of 16-bit samples

constexpr std::size_t kRowsAtATime = 8;  // bounds the memory of the transforms

template <typename Number>
at::Tensor on_device(const std::vector<Number>& numbers, c10::Device device) {
  return at::tensor(at::ArrayRef<Number>(numbers)).to(device);
}

std::span<const float> numbers_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

// The tables of the GPU's kernel.
struct PromptMels::Kernel {
  Kernel(const SoundMelTables& tables, c10::Device device)
      : window(on_device(tables.window, device)),
        roots(on_device(tables.roots, device)),
        weights(on_device(tables.weights, device)),
        band_starts(on_device(tables.band_starts, device)),
        band_bins(on_device(tables.band_bins, device)) {}

  SoundMelView view(const at::Tensor& mel_stats) const {
    return {.window = window.const_data_ptr<float>(),
            .roots = roots.const_data_ptr<float>(),
            .weights = weights.const_data_ptr<float>(),
            .band_starts = band_starts.const_data_ptr<std::int32_t>(),
            .band_bins = band_bins.const_data_ptr<std::int32_t>(),
            .mel_stats = mel_stats.const_data_ptr<float>()};
  }

  at::Tensor window;
  at::Tensor roots;
  at::Tensor weights;
  at::Tensor band_starts;
  at::Tensor band_bins;
};

PromptMels::PromptMels(const at::Tensor& mel_stats, c10::Device device)
    : mel_stats_(mel_stats.contiguous()), spectrogram_(conditioning_mel_config(), device) {
  const MelConfig mel = conditioning_mel_config();
  if (!device.is_cuda() || !cuda_sound_mel_supports(mel)) return;
  const auto window = mel_window(mel).contiguous();
  const auto filters = mel_filters(mel).contiguous();
  kernel_ = std::make_unique<const Kernel>(
      sound_mel_tables(mel, numbers_of(window), numbers_of(filters)), device);
}

PromptMels::~PromptMels() = default;

void PromptMels::make(std::span<const at::Tensor> prompts, at::Tensor& out,
                      const Stream& stream) const {
  if (!kernel_) {
    make_reference(prompts, out);
    return;
  }
  MYXTTS_CHECK(out.is_contiguous() && std::ssize(prompts) <= out.size(0), "{} prompts do not fit",
               prompts.size());
  std::vector<SoundPiece> pieces(static_cast<std::size_t>(out.size(0)));
  for (std::size_t row = 0; row < prompts.size(); ++row) {
    pieces[row] = {.samples = prompts[row].const_data_ptr<std::int16_t>(),
                   .count = prompts[row].size(0)};
  }
  cuda_sound_mel(kernel_->view(mel_stats_),
                 {.samples = kSamples, .hop = conditioning_mel_config().hop, .bands = bands()},
                 pieces, out.mutable_data_ptr<float>(), stream);
}

void PromptMels::make_reference(std::span<const at::Tensor> prompts, at::Tensor& out) const {
  const auto rows = static_cast<std::size_t>(out.size(0));
  for (std::size_t first = 0; first < rows; first += kRowsAtATime) {
    const auto count = static_cast<std::int64_t>(std::min(kRowsAtATime, rows - first));
    auto sound = at::zeros({count, kSamples}, out.options());
    for (std::int64_t row = 0; row < count; ++row) {
      const auto number = first + static_cast<std::size_t>(row);
      if (number >= prompts.size()) break;
      auto own = sound.select(0, row).narrow(0, 0, prompts[number].size(0));
      at::div_out(own, prompts[number], c10::Scalar(kSampleScale));
    }
    out.narrow(0, static_cast<std::int64_t>(first), count)
        .copy_(normalised_log_mel(spectrogram_(sound), mel_stats_));
  }
}

}  // namespace myxtts
