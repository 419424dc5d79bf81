// SPDX-License-Identifier: Apache-2.0
#include "session/samples/clip_samples.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/clip.h"
#include "audio/mel_spectrogram.h"
#include "model/dvae.h"
#include "session/samples/mel_picture.h"
#include "synth/copy_synthesis.h"

namespace myxtts {
namespace {

std::string numbered(std::size_t index) {
  return fmt::format("{:02}", index + 1);
}

}  // namespace

void ReconstructedClips::make(const OpenModel& model, const Take& take, const Wanted& wanted) {
  const Dvae dvae(model.config.dvae, model.dvae);
  const MelSpectrogram mel(dvae_mel_config(), at::kCPU);
  const at::Tensor& stats = model.model.at("mel_stats");
  for (std::size_t index = 0; index < clips_.size() && wanted(); ++index) {
    const auto clip = read_clip(clips_[index].audio, model.config.decoder.input_sample_rate);
    const auto original = normalised_log_mel(mel(clip.unsqueeze(0)), stats);  // [1, bands, F]
    const auto codes = dvae.quantise(dvae.encode(original));
    const auto back = dvae.decode(dvae.look_up(codes)).narrow(2, 0, original.size(2));
    const auto to_power = stats.view({1, -1, 1});
    take(
        {.name = numbered(index),
         .picture = mel_picture({(original * to_power).squeeze(0), (back * to_power).squeeze(0)})});
  }
}

void CopiedClips::make(const OpenModel& model, const Take& take, const Wanted& wanted) {
  const CopySynthesis copy(model, at::kCPU);
  for (std::size_t index = 0; index < clips_.size() && wanted(); ++index) {
    const auto clip = read_clip(clips_[index].audio, copy.input_rate());
    const auto copied = copy(clip, clips_[index].ids, wanted);
    if (!copied.samples.defined()) return;
    take({.name = numbered(index),
          .sound = copied.samples,
          .sample_rate = copy.sample_rate(),
          .picture = mel_picture(
              {log_mel(clip, copy.input_rate()), log_mel(copied.samples, copy.sample_rate())})});
    take({.name = numbered(index) + "-original", .sound = clip, .sample_rate = copy.input_rate()});
  }
}

}  // namespace myxtts
