// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "base/error.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "support/golden.h"
#include "support/temporary_folder.h"
#include "synth/voice.h"
#include "synth/windowed_vocoder.h"
#include "weights/tensor_files.h"

namespace myxtts::voice_test {
namespace {

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(VoiceFile, GivesBackTheVoiceThatWasSaved) {
  const test::TemporaryFolder folder;
  const auto config = model_preset("tiny");
  const Voice voice{at::randn({32, config.gpt.width}), at::randn({config.decoder.speaker_dim})};
  write_voice(folder / "v.safetensors", voice);
  const auto read = read_voice(folder / "v.safetensors", config);
  EXPECT_TRUE(read.latents.equal(voice.latents));
  EXPECT_TRUE(read.speaker.equal(voice.speaker));
  EXPECT_NE(message_of([&] {
              read_voice(folder / "v.safetensors", model_preset("small"));
            }).find("for another size of model"),
            std::string::npos);
}

TEST(VoiceFile, FindsSpeakersByNameAndListsThemOtherwise) {
  const test::TemporaryFolder folder;
  const auto config = model_preset("tiny");
  const auto latents = at::randn({1, 32, config.gpt.width});
  EXPECT_NE(
      message_of([&] { read_speaker(folder.path(), "Ana", config); }).find("came without voices"),
      std::string::npos);
  write_tensors(folder / "voices.safetensors", {{"Ana Florence.gpt_cond_latent", latents},
                                                {"Ana Florence.speaker_embedding",
                                                 at::randn({1, config.decoder.speaker_dim, 1})}});
  EXPECT_TRUE(read_speaker(folder.path(), "Ana Florence", config).latents.equal(latents[0]));
  EXPECT_NE(message_of([&] { read_speaker(folder.path(), "Bob", config); }).find("Ana Florence"),
            std::string::npos);
}

TEST(ReferenceClips, AreCutThenEvenedThenTrimmed) {
  const test::TemporaryFolder folder;
  std::vector<float> samples(22'050 * 4, 0.0F);
  for (std::size_t i = 22'050; i < 2 * 22'050; ++i) samples[i] = i % 2 == 0 ? 0.3F : -0.3F;
  for (std::size_t i = 3 * 22'050; i < samples.size(); ++i) samples[i] = 0.9F;
  write_wav(folder / "a.wav", samples, 22'050);
  const auto clip =
      read_reference(folder / "a.wav", 22'050, 3 * 22'050, /*even_loudness=*/true, 40.0);
  EXPECT_NEAR(clip.abs().max().item<float>(), 0.75F, 1e-5F);
  EXPECT_NEAR(static_cast<double>(clip.size(0)), 22'050.0, 2500.0);
}

// Windows of 2048 every 512 samples, centred: the rule of librosa's trim, counted by hand.
TEST(ReferenceClips, TrimKeepsWindowsThatAreLoudEnough) {
  auto clip = at::zeros({512 * 20});
  clip.narrow(0, 512 * 8, 512 * 4).fill_(0.5);
  const auto trimmed = trim_silence(clip, 60.0);
  // Window k spans 512 k ± 1024: the first to reach sample 4096 is 7, the last before 6144 is 13.
  EXPECT_TRUE(trimmed.equal(clip.narrow(0, 512 * 7, 512 * 7)));
  EXPECT_EQ(trim_silence(at::ones({5000}), 30.0).size(0), 5000);
}

TEST(ReferenceClips, SilenceAndShortnessAreSaid) {
  const test::TemporaryFolder folder;
  write_wav(folder / "silent.wav", std::vector<float>(30'000, 0.0F), 22'050);
  write_wav(folder / "short.wav", std::vector<float>(3000, 0.5F), 22'050);
  EXPECT_NE(message_of([&] {
              read_reference(folder / "silent.wav", 22'050, 100'000);
            }).find("silent.wav is silent"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              read_reference(folder / "short.wav", 22'050, 100'000);
            }).find("short.wav is 0.14 s long"),
            std::string::npos);
}

class VocoderOfSmallDecoder : public testing::Test {
 protected:
  VocoderOfSmallDecoder() : config_(model_preset("tiny").decoder) {
    weights_ = initialise(decoder_specs(config_), 3);
    weights_.at("conv_post.weight").normal_(0.0, 1.0);
  }
  DecoderConfig config_;
  NamedTensors weights_;
};

TEST_F(VocoderOfSmallDecoder, ThePartFromASampleOnIsThatPartOfTheWhole) {
  const Decoder decoder(config_, weights_, "");
  const WindowedVocoder vocoder(decoder, config_);
  const auto latents = at::randn({25, config_.input_dim});
  const auto speaker = at::randn({config_.speaker_dim});
  const auto whole = vocoder(latents, speaker);
  EXPECT_EQ(whole.size(0), vocoder.length(25));
  const double loudness = whole.std().item<double>();  // a random decoder may well whisper
  EXPECT_GT(loudness, 0.0);
  for (const std::int64_t first : {1L, 5000L, 9000L, whole.size(0) - 1}) {
    const auto part = vocoder.from(first, latents, speaker);
    EXPECT_LT(test::max_abs_difference(part, whole.slice(0, first)), 1e-3 * loudness) << first;
  }
  EXPECT_EQ(vocoder.from(whole.size(0), latents, speaker).size(0), 0);
}

TEST(ReferenceLengths, PiecesThatNeverEndAreRefused) {
  EXPECT_EQ(reference_lengths({}, 22'050).latents_piece, 22'050 * 4);
  for (const double seconds : {0.0, 0.1, -4.0, 1e300, std::nan("")}) {
    const auto said =
        message_of([&] { (void)reference_lengths({.gpt_cond_chunk_len = seconds}, 22'050); });
    EXPECT_NE(said.find("pieces have 0.33 s at least"), std::string::npos) << seconds << said;
  }
}

}  // namespace
}  // namespace myxtts::voice_test
