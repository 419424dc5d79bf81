// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_features.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <ATen/ATen.h>

#include "audio/phase_filter.h"
#include "base/error.h"
#include "config/model.h"
#include "kernels/mel/sound_mel.h"

namespace myxtts {
namespace {

constexpr double kFullScale = 32768.0;  // of 16-bit samples

// Clips are padded to a multiple of this, so that few shapes need a plan of cuDNN.
constexpr std::int64_t kStep = 1 << 16;

}  // namespace

at::Tensor ClipResampler::operator()(const ClipSound& clip, std::int64_t rate) {
  const auto wave = clip.samples.to(at::kFloat).div_(kFullScale);
  return clip.rate == rate ? wave : resampled(wave, clip.rate, rate).clamp_(-1.0, 1.0);
}

at::Tensor ClipResampler::resampled(const at::Tensor& wave, std::int64_t from, std::int64_t to) {
  if (from == to) return wave;
  auto found = resamplers_.find({from, to});
  if (found == resamplers_.end()) {
    found = resamplers_.try_emplace({from, to}, from, to, device_).first;
  }
  const auto samples = wave.size(0);
  auto padded = at::zeros({(samples + kStep - 1) / kStep * kStep}, wave.options());
  padded.narrow(0, 0, samples).copy_(wave);
  return found->second(padded).narrow(0, 0, resampled_length(samples, from, to));
}

namespace {

// As 16-bit files hold it.
at::Tensor in_16_bits(const at::Tensor& wave) {
  return (wave * kFullScale).round_().clamp_max_(kFullScale - 1).to(at::kShort);
}

constexpr std::int64_t kCodeFrames = 4;
constexpr std::int64_t kGap = 4;  // frames between clips of a row, at least

std::int64_t up_to_multiple(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

struct ClipFeatures::Row {
  std::int64_t frames = 0;
  std::int64_t used = 0;                             // from the first frame on
  std::map<std::size_t, std::int64_t> first_frames;  // of each clip that lies in it
};

ClipFeatures::ClipFeatures(const Dvae& dvae, const at::Tensor& mel_stats, c10::Device device,
                           std::int64_t row_frames)
    : dvae_(dvae),
      mel_stats_(mel_stats),
      device_(device),
      row_frames_(row_frames),
      dvae_spectrogram_(dvae_mel_config(), device),
      resampler_(device) {}

std::vector<EncodedClip> ClipFeatures::load(std::span<const ClipSound> clips) {
  std::vector<EncodedClip> loaded;
  for (const ClipSound& clip : clips) {
    const auto wave = resampler_(clip, kRate);
    MYXTTS_CHECK(wave.size(0) >= dvae_spectrogram_.minimum_samples(),
                 "a clip of {} samples is too short for the DVAE", wave.size(0));
    loaded.push_back({.samples = clip.rate == kRate ? clip.samples : in_16_bits(wave),
                      .codes = {},
                      .wave = wave});
  }
  return loaded;
}

std::vector<EncodedClip> ClipFeatures::encode(std::span<const ClipSound> clips) {
  auto results = load(clips);
  for (const Row& row : lay_out(results)) {
    const auto codes = row_codes(row, results);  // [row.frames / 4]
    for (const auto& [number, first_frame] : row.first_frames) {
      EncodedClip& clip = results[number];
      clip.codes = codes.narrow(0, first_frame / kCodeFrames, code_count(clip.wave.size(0)));
    }
  }
  return results;
}

// See Note [A clip's company]. Long clips first, each into the first row that has room: fewer rows
// than in the order they came, and nearly as many for one batch as for the next.
std::vector<ClipFeatures::Row> ClipFeatures::lay_out(std::span<const EncodedClip> clips) const {
  std::vector<std::size_t> order(clips.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&clips](std::size_t clip) { return clips[clip].wave.size(0); });
  std::vector<Row> rows;
  for (const std::size_t clip : order) {
    const auto frames = dvae_spectrogram_.frame_count(clips[clip].wave.size(0));
    const auto with_gap = up_to_multiple(frames + kGap, kCodeFrames);
    const auto length = row_frames_ > 0 ? row_frames_ : with_gap;
    MYXTTS_CHECK(with_gap <= length, "a clip of {} frames does not fit into a row", frames);
    auto row = std::ranges::find_if(
        rows, [with_gap](const Row& each) { return each.used + with_gap <= each.frames; });
    if (row == rows.end())
      row = rows.insert(row, {.frames = length, .used = 0, .first_frames = {}});
    row->first_frames.emplace(clip, row->used);
    row->used += with_gap;
  }
  return rows;
}

at::Tensor ClipFeatures::row_codes(const Row& row, std::span<const EncodedClip> clips) const {
  const auto config = dvae_mel_config();
  const auto reach = config.fft_size / 2;
  const auto options = at::TensorOptions(device_).dtype(at::kFloat);
  auto samples = at::zeros({(row.frames - 1) * config.hop + config.fft_size}, options);
  auto mask = at::zeros({1, 1, row.frames}, options);
  for (const auto& [clip, first_frame] : row.first_frames) {
    const auto& wave = clips[clip].wave;
    const auto length = wave.size(0);
    auto own = samples.narrow(0, first_frame * config.hop, length + 2 * reach);
    own.narrow(0, 0, reach).copy_(wave.narrow(0, 1, reach).flip(0));
    own.narrow(0, reach, length).copy_(wave);
    own.narrow(0, reach + length, reach).copy_(wave.narrow(0, length - 1 - reach, reach).flip(0));
    mask.narrow(2, first_frame, dvae_spectrogram_.frame_count(length)).fill_(1);
  }
  const auto mel = normalised_log_mel(dvae_spectrogram_.of_reflected(samples.unsqueeze(0)),
                                      mel_stats_);  // [1, bands, row.frames]
  return dvae_.quantise(dvae_.encode_packed(mel, mask)).squeeze(0);
}

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
