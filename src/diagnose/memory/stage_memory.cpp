// SPDX-License-Identifier: Apache-2.0
#include "data/sound_window.h"
#include "diagnose/memory/memory_model.h"
#include "model/decoder_specs.h"
#include "model/dvae_specs.h"
#include "model/gpt_specs.h"
#include "model/memory_estimate.h"
#include "model/parameter_count.h"
#include "model/speaker_encoder_specs.h"

namespace myxtts {
namespace {

constexpr std::int64_t kFloat = 4;             // bytes
constexpr std::int64_t kTrained = 4 * kFloat;  // of a parameter: weight, gradient, two averages
constexpr std::int64_t kKept = 4;              // tensors that a convolution and its activation keep
constexpr std::int64_t kSlack = 512 << 20;     // bytes: work spaces of libraries

// Numbers that a window's forward pass keeps.
std::int64_t dvae_activations(const DvaeConfig& dvae, std::int64_t frames) {
  const std::int64_t block = 3 * dvae.channels;
  const std::int64_t quarter =
      2 * dvae.blocks * block + 4 * dvae.codebook_dim + 2 * dvae.codes + 2 * dvae.channels;
  return kKept * (quarter * frames / 4 + (dvae.hidden + dvae.channels) * frames / 2 +
                  (dvae.hidden + 2 * dvae.mel_bands) * frames);
}

std::int64_t decoder_activations(const DecoderConfig& decoder, std::int64_t frames) {
  const auto convolutions = static_cast<std::int64_t>(2 * decoder.resblock_kernels.size() *
                                                      decoder.resblock_dilations.size());
  std::int64_t sum = 0;
  std::int64_t channels = decoder.initial_channels;
  std::int64_t length = frames;
  for (const std::int64_t rate : decoder.upsample_rates) {
    channels /= 2;
    length *= rate;
    sum += 2 * convolutions * channels * length;
  }
  return 3 * sum;  // the discriminators judge both the recording and what was made of it
}

std::int64_t speaker_activations(const SpeakerEncoderConfig& encoder, std::int64_t samples) {
  std::int64_t sum = 0;
  std::int64_t place = encoder.mel_bands * (samples / encoder.hop + 1);
  for (std::size_t layer = 0; layer < encoder.layers.size(); ++layer) {
    if (layer > 0) place /= 4;
    sum += 2 * kKept * encoder.layers[layer] * encoder.filters[layer] * place;
  }
  return sum;
}

}  // namespace

MemoryModel stage_memory_model(const ModelConfig& model, const TrainConfig& train) {
  const WindowPlan windows = plan_windows(
      train.stage, model, {.per_clip = train.windows_per_clip, .seconds = train.window}, 1);
  return [model, windows](Precision, bool) {
    const BatchShape clip = usual_batch(model.gpt, 1);
    MemoryNeeds needs;
    std::int64_t activations = 0;
    std::int64_t trained = 0;
    std::int64_t frozen = 0;
    if (windows.stage == Stage::Dvae) {
      trained = parameter_count(dvae_specs(model.dvae));
      activations = dvae_activations(model.dvae, windows.length);
    } else if (windows.stage == Stage::Decoder) {
      // The discriminators have about as many parameters as two decoders.
      trained = 3 * parameter_count(decoder_specs(model.decoder));
      frozen = parameter_count(gpt_specs(model.gpt));
      activations = decoder_activations(model.decoder, windows.length);
    } else {
      trained = parameter_count(speaker_encoder_specs(model.speaker_encoder));
      activations = speaker_activations(model.speaker_encoder, windows.length);
    }
    needs.model.fixed_bytes = kTrained * trained + kFloat * frozen + kSlack;
    needs.model.clip_bytes = kFloat * windows.per_clip * activations;
    needs.sum_bytes = 0;
    needs.data.fixed_bytes = feature_memory(model, {});
    needs.data.clip_bytes = feature_memory(model, clip) - needs.data.fixed_bytes;
    needs.slot_bytes = slot_memory(model, clip) + kFloat * windows.per_clip * windows.samples();
    needs.clip_tokens = clip.tokens;
    return needs;
  };
}

}  // namespace myxtts
