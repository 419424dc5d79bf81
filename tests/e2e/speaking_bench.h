// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/named_tensors.h"
#include "model/speaker_encoder.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "text/vocabulary.h"
#include "weights/tensor_files.h"

namespace myxtts::test {

inline std::string vocabulary_file() {
  return std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json";
}

// A tiny model of random weights that babbles, and a clip of a voice.
class SpeakingBench : public testing::Test {
 protected:
  SpeakingBench() {
    const Vocabulary vocab = Vocabulary::load(vocabulary_file());
    config_.gpt.text_ids = vocab.rows();
    config_.gpt.start_text = vocab.start();
    config_.gpt.stop_text = vocab.stop();
    config_.gpt.max_audio_tokens = 63;  // 60 codes at most
    std::filesystem::create_directory(model_folder());
    std::ofstream(model_folder() / "config.json") << print_model_config(config_);
    std::filesystem::copy_file(vocabulary_file(), model_folder() / "vocab.json");
    write_tensors(model_folder() / "model.safetensors", new_model());
    write_tone("me.wav", 140.0, 3.0);
  }

  std::filesystem::path model_folder() const { return folder_ / "model"; }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  void write_tone(const std::string& name, double hz, double seconds, double loudness = 0.4) const {
    std::vector<float> samples(static_cast<std::size_t>(seconds * 24000.0));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double t = static_cast<double>(i) / 24000.0;
      samples[i] = static_cast<float>(loudness * std::sin(6.28318530718 * hz * t) *
                                      (1.0 + 0.5 * std::sin(6.28318530718 * 3.0 * t)));
    }
    write_wav(folder_ / name, samples, 24000);
  }

  NamedTensors new_model() const {
    auto tensors = initialise(checkpoint_specs(config_), 3);
    for (const auto& [name, table] : speaker_encoder_tables(config_.speaker_encoder)) {
      tensors.emplace(kSpeakerEncoderPrefix + name, table);
    }
    tensors.at("mel_stats").fill_(2.0);
    tensors.at("hifigan_decoder.waveform_decoder.conv_post.weight").mul_(10.0);
    tensors.at("gpt.mel_head.weight").mul_(3.0);
    tensors.at("gpt.mel_head.bias")[config_.gpt.stop_audio] = -1e3;
    return tensors;
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"synthesize", "--model", model_folder().string()};
    if (in_one_thread_) all.insert(all.end(), {"--threads", "1"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  ProgramResult speak(const std::vector<std::string>& more) const {
    return run_program(arguments(more));
  }

  // With a voice, a language and a file to write.
  ProgramResult say(const std::string& text, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--reference", file("me.wav"), "--language", "en",
                                    "--text",      text,           "--out",      file("a.wav")};
    all.insert(all.end(), more.begin(), more.end());
    return speak(all);
  }

  TemporaryFolder folder_;
  ModelConfig config_ = model_preset("tiny");
  // A team of threads meets many times for each code, which takes its time where others run too.
  bool in_one_thread_ = true;
};

}  // namespace myxtts::test
