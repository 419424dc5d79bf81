// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <fstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/dvae.h"
#include "model/gpt.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "support/program.h"
#include "support/stand_in_ffmpeg.h"
#include "support/temporary_folder.h"
#include "weights/tensor_files.h"

namespace myxtts::test::encode_test {
namespace {

namespace fs = std::filesystem;

// A tiny model with random weights, and two voices: tones of 5 s and 3.2 s.
class Encode : public testing::Test {
 protected:
  Encode() {
    fs::create_directory(model_folder());
    std::ofstream(model_folder() / "config.json") << print_model_config(config_);
    write_tensors(model_folder() / "model.safetensors", model_);
    write_tensors(model_folder() / "dvae.safetensors", dvae_);
    write_tone("low.wav", 130.0, 5.0);
    write_tone("high.wav", 310.0, 3.2);
  }

  fs::path model_folder() const { return folder_ / "model"; }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  void write_tone(const std::string& name, double hz, double seconds) const {
    std::vector<float> samples(static_cast<std::size_t>(seconds * 24000.0));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double t = static_cast<double>(i) / 24000.0;
      samples[i] = static_cast<float>(0.4 * std::sin(6.28318530718 * hz * t) *
                                      (1.0 + 0.5 * std::sin(6.28318530718 * 3.0 * t)));
    }
    write_wav(folder_ / name, samples, 24000);
  }

  ProgramResult encode(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"encode", "--model", model_folder().string(), "--out",
                                          file("out.safetensors")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  NamedTensors new_model() const {
    auto tensors = initialise(checkpoint_specs(config_), 3);
    for (const auto& [name, table] : speaker_encoder_tables(config_.speaker_encoder)) {
      tensors.emplace(kSpeakerEncoderPrefix + name, table);
    }
    tensors.at("mel_stats").uniform_(1.5, 2.5);
    for (auto& [name, tensor] : tensors) {
      if (name.find("proj_out.weight") != std::string::npos) tensor.normal_(0.0, 0.05);
    }
    return tensors;
  }

  at::Tensor conditioning(const at::Tensor& samples) const {
    const auto power = MelSpectrogram(conditioning_mel_config(), at::kCPU)(samples.unsqueeze(0));
    return Gpt(config_.gpt, model_)
        .conditioning(normalised_log_mel(power, model_.at("mel_stats")))
        .squeeze(0);
  }

  at::Tensor speaker(const at::Tensor& samples) const {
    const SpeakerEncoder encoder(config_.speaker_encoder, model_);
    return encoder(Resampler(22050, 16000, at::kCPU)(samples).unsqueeze(0)).squeeze(0);
  }

  static void expect_close(const at::Tensor& found, const at::Tensor& expected) {
    ASSERT_EQ(found.sizes(), expected.sizes());
    EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-6));
  }

  TemporaryFolder folder_;
  ModelConfig config_ = model_preset("tiny");
  NamedTensors model_ = new_model();
  NamedTensors dvae_ = initialise(dvae_specs(config_.dvae), 4);
};

TEST_F(Encode, WritesWhatTheNetworksMakeOfEachFile) {
  const auto result = encode({"--max-ref-len", "30", file("low.wav")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto tensors = read_tensors(file("out.safetensors"));
  const auto clip = read_clip(file("low.wav"), 22050);
  const auto power = MelSpectrogram(dvae_mel_config(), at::kCPU)(clip.unsqueeze(0));
  const auto mel = normalised_log_mel(power, model_.at("mel_stats"));
  expect_close(tensors.at("low.mel_dvae"), mel.squeeze(0));
  const Dvae dvae(config_.dvae, dvae_);
  EXPECT_TRUE(tensors.at("low.codes").equal(dvae.quantise(dvae.encode(mel)).squeeze(0)));
  EXPECT_EQ(tensors.at("low.mel_cond").sizes(), tensors.at("low.mel_dvae").sizes());
  expect_close(tensors.at("low.speaker"), speaker(clip));
  expect_close(tensors.at("all.speaker"), tensors.at("low.speaker"));
  EXPECT_EQ(tensors.size(), 7U);
}

// 5 s and 3.2 s cut to 4 s each are 7.2 s; 6.2 s of it in pieces of 2 s, the last 0.2 s left out.
TEST_F(Encode, AveragesTheReferenceOverPiecesAndFiles) {
  const auto result = encode({"--max-ref-len", "4", "--cond-len", "6.2", "--cond-chunk", "2",
                              file("low.wav"), file("high.wav")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto tensors = read_tensors(file("out.safetensors"));
  const auto low = read_clip(file("low.wav"), 22050).narrow(0, 0, 88200);
  const auto high = read_clip(file("high.wav"), 22050);
  const auto all = at::cat({low, high});
  const auto expected =
      (conditioning(all.narrow(0, 0, 44100)) + conditioning(all.narrow(0, 44100, 44100)) +
       conditioning(all.narrow(0, 88200, 44100))) /
      3;
  expect_close(tensors.at("all.latents"), expected);
  expect_close(tensors.at("all.speaker"), (speaker(low) + speaker(high)) / 2);
  EXPECT_LT(tensors.at("all.speaker").norm().item<float>(), 1.0F) << "scaled to length one again";
}

TEST_F(Encode, HearsAnM4aThroughFfmpegAsTheWavItHoldsAndNamesItWhereThatIsMissing) {
  std::ofstream(file("-low.m4a"), std::ios::binary) << kM4aHead;
  const std::vector<std::string> words = {
      "encode",        "--model", model_folder().string(), "--out", file("m4a.safetensors"),
      file("-low.m4a")};
  const auto low = read_audio(file("low.wav"));
  std::ofstream(file("float.wav"), std::ios::binary)
      << float_wav(low.samples, static_cast<std::uint32_t>(low.sample_rate));
  const auto path = write_stand_in_ffmpeg(file("bin"), file("float.wav"), file("calls"));
  const auto heard = run_program(words, {.environment = {path}});
  ASSERT_EQ(heard.exit_code, 0) << heard.err;
  expect_close(read_tensors(file("m4a.safetensors")).at("-low.speaker"),
               speaker(read_clip(file("low.wav"), 22050)));
  const auto calls = contents_of(file("calls"));
  EXPECT_EQ(calls.find("-low.m4a"), calls.rfind("-low.m4a")) << "decoded once\n" << calls;
  const auto missing = run_program(words, {.environment = {"PATH=/nonexistent"}});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("-low.m4a is AAC (M4A), which is read through ffmpeg: install it (apt "
                             "install ffmpeg), or convert the file"),
            std::string::npos)
      << missing.err;
}

TEST_F(Encode, NamesTheFileThatIsTooShort) {
  write_tone("short.wav", 200.0, 0.3);
  const auto result = encode({file("low.wav"), file("short.wav")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("short.wav is 0.30 s long"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(file("out.safetensors")));
}

TEST_F(Encode, RefusesTwoFilesOfOneName) {
  fs::create_directory(folder_ / "other");
  fs::copy_file(file("low.wav"), folder_ / "other" / "low.wav");
  const auto result = encode({file("low.wav"), file("other/low.wav")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'low'"), std::string::npos) << result.err;
}

TEST_F(Encode, RefusesPiecesThatAreTooShortToBeHeard) {
  const auto result = encode({"--cond-chunk", "0.2", file("low.wav")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--cond-chunk takes seconds from 0.34"), std::string::npos)
      << result.err;
}

TEST_F(Encode, SaysThatTheDvaeIsMissing) {
  fs::remove(model_folder() / "dvae.safetensors");
  const auto result = encode({file("low.wav")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("has no dvae.safetensors"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace myxtts::test::encode_test
