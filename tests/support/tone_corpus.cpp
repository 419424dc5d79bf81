// SPDX-License-Identifier: Apache-2.0
#include "support/tone_corpus.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/audio_file.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "text/vocabulary.h"
#include "weights/tensor_files.h"

namespace myxtts::test {

namespace fs = std::filesystem;

TinyModel write_tiny_model(const fs::path& folder) {
  fs::create_directories(folder);
  const auto vocabulary =
      fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "text" / "vocab.json";
  fs::copy_file(vocabulary, folder / "vocab.json");
  const auto words = Vocabulary::load(vocabulary);

  TinyModel tiny{.config = model_preset("tiny"), .model = {}, .dvae = {}};
  tiny.config.gpt.text_ids = words.rows();
  tiny.config.gpt.start_text = words.start();
  tiny.config.gpt.stop_text = words.stop();
  tiny.model = initialise(checkpoint_specs(tiny.config), 3);
  for (const auto& [name, table] : speaker_encoder_tables(tiny.config.speaker_encoder)) {
    tiny.model.emplace(kSpeakerEncoderPrefix + name, table);
  }
  tiny.model.at("mel_stats").uniform_(1.5, 2.5);
  tiny.dvae = initialise(dvae_specs(tiny.config.dvae), 4);
  std::ofstream(folder / "config.json") << print_model_config(tiny.config);
  write_tensors(folder / "model.safetensors", tiny.model);
  write_tensors(folder / "dvae.safetensors", tiny.dvae);
  return tiny;
}

void write_tone(const fs::path& path, double hz, double seconds, double peak) {
  constexpr double kTurn = 6.28318530718;
  std::vector<float> samples(static_cast<std::size_t>(seconds * 22050.0));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / 22050.0;
    samples[i] = static_cast<float>(peak * std::sin(kTurn * hz * t) *
                                    (0.7 + 0.3 * std::sin(kTurn * 3.0 * t)));
  }
  write_wav(path, samples, 22050);
}

void add_line(const fs::path& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / "metadata.csv", std::ios::app)
      << name << '|' << text << '|' << text << '\n';
}

void write_tone_corpus(const fs::path& folder, int clips) {
  fs::create_directories(folder / "wavs");
  for (int clip = 0; clip < clips; ++clip) {
    const auto name = fmt::format("clip{:02}", clip);
    write_tone(folder / "wavs" / (name + ".wav"), 120.0 + 13.0 * clip, 1.2 + 0.01 * clip);
    add_line(folder, name, clip % 2 == 0 ? "seventeen letters here" : "sixteen letters or so");
  }
}

}  // namespace myxtts::test
