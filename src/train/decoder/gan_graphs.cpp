// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/gan_graphs.h"

#include <utility>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/progress.h"

namespace myxtts {

GanGraphs::GanGraphs(RoleDevice& device, DecoderWindows inputs, const GanWork& mel_only,
                     const GanWork& with_discriminators)
    : inputs_(std::move(inputs)), recorder_(device.make_graph_recorder()) {
  MYXTTS_CHECK(recorder_ != nullptr, "{} has no graphs", device.name());
  Progress progress({.title = "Recording steps as CUDA graphs", .total = 2});
  with_discriminators_ = record(device, with_discriminators);  // the largest first
  progress.advance();
  mel_only_ = record(device, mel_only);
  progress.advance();
}

GanGraphs::~GanGraphs() = default;

std::unique_ptr<RecordedGraph> GanGraphs::record(RoleDevice& device, const GanWork& work) {
  try {
    work(inputs_);
    return recorder_->record([&] { work(inputs_); });
  } catch (const c10::OutOfMemoryError&) {
    throw;  // it says itself what would help
  } catch (const c10::Error& error) {
    throw DeviceError(
        fmt::format("The decoder's step on {} windows cannot be recorded as a CUDA graph on {}: {} "
                    "Type --disable-static-shapes to train without graphs.",
                    inputs_.sound.size(0), device.name(), error.what_without_backtrace()));
  }
}

void GanGraphs::replay(const DecoderWindows& windows, bool with_discriminators) {
  MYXTTS_CHECK(windows.sound.sizes() == inputs_.sound.sizes(),
               "{} windows of {} samples came where a step of {} windows of {} was recorded",
               windows.sound.size(0), windows.sound.size(1), inputs_.sound.size(0),
               inputs_.sound.size(1));
  inputs_.frames.copy_(windows.frames);
  inputs_.speaker.copy_(windows.speaker);
  inputs_.sound.copy_(windows.sound);
  inputs_.weights.copy_(windows.weights);
  (with_discriminators ? with_discriminators_ : mel_only_)->replay();
}

DecoderWindows empty_windows(const DecoderConfig& config, const DecoderTrainingSettings& settings,
                             c10::Device device) {
  const auto fp32 = at::TensorOptions(device).dtype(at::kFloat);
  const std::int64_t count = settings.windows;
  const std::int64_t frames = settings.window_frames;
  return {.frames = at::zeros({count, frames, config.input_dim}, fp32).transpose(1, 2),
          .speaker = at::zeros({count, config.speaker_dim, 1}, fp32),
          .sound = at::zeros({count, frames * config.output_hop}, fp32),
          .weights = at::ones({count}, fp32)};
}

}  // namespace myxtts
