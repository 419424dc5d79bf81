// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace myxtts {

// The parts of the network that are trained, each by itself; --stage and --stages name them. A
// fifth part is an enumerator and a line of facts here, a folder of train/ and its line in
// train/parts.cpp, and, where it is trained on windows of sound, what those hold:
// data/batches/sound_window.cpp and pipeline/sound_features.cpp.
enum class ModelPart { Gpt, Dvae, Decoder, Speaker };

inline constexpr std::array kModelParts{ModelPart::Dvae, ModelPart::Gpt, ModelPart::Decoder,
                                        ModelPart::Speaker};

std::string_view name_of(ModelPart part);  // as --stage calls it

// How the learning rate changes. Steps is coqui-tts' recipe for the GPT, Exponential that of
// HiFi-GAN.
enum class ScheduleKind { Steps, Constant, Cosine, Exponential };

// What is known of a part besides its network and how that is trained.
struct PartFacts {
  ModelPart part = ModelPart::Gpt;
  std::string_view name = {};  // as --stage calls it
  std::string_view file = {};  // of a model folder: the one that its tensors are in
  // What their names begin with there; empty: they are all of the file.
  std::string_view prefix = {};
  bool on_windows = true;  // trained on windows of sound; else on packed rows of texts and codes

  // What it is trained with where nothing else was asked for: the recipe of coqui-tts for the GPT,
  // HiFi-GAN's for the decoder.
  double learning_rate = 0;      // of trained weights
  double rate_from_nothing = 0;  // of new ones
  ScheduleKind schedule = ScheduleKind::Constant;
  double weight_decay = 0;
  std::int64_t batch_size = 1;  // clips, where it does not follow from memory
};
const PartFacts& facts_of(ModelPart part);

}  // namespace myxtts
