// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_specs.h"

#include <string>
#include <utility>

#include "model/decoder_specs.h"
#include "model/gpt_specs.h"
#include "model/speaker_encoder_specs.h"

namespace myxtts {
namespace {

void append(TensorSpecs& all, TensorSpecs part, const std::string& prefix) {
  for (TensorSpec& spec : part) {
    spec.name.insert(0, prefix);
    if (!spec.source.empty()) spec.source.insert(0, prefix);
    all.push_back(std::move(spec));
  }
}

}  // namespace

TensorSpecs checkpoint_specs(const ModelConfig& config) {
  TensorSpecs all;
  append(all, gpt_specs(config.gpt), "gpt.");
  append(all, decoder_specs(config.decoder), "hifigan_decoder.waveform_decoder.");
  append(all, speaker_encoder_specs(config.speaker_encoder), "hifigan_decoder.speaker_encoder.");
  all.push_back({.name = "mel_stats",
                 .shape = {config.gpt.mel_bands},
                 .init = Init::Ones,
                 .role = TensorRole::Buffer,
                 .explained_by = "gpt.mel_bands"});
  return all;
}

}  // namespace myxtts
