// SPDX-License-Identifier: Apache-2.0
#include "clips/voice_activity.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "audio/audio_file.h"
#include "base/error.h"
#include "support/environment.h"
#include "support/golden.h"
#include "support/temporary_folder.h"
#include "weights/tensor_files.h"

namespace myxtts::test::voice_activity_test {
namespace {

const VoiceActivity& network() {
  static const auto made = VoiceActivity::with_fetched_weights();
  return made;
}

// The sound of tests/golden/make_voice_activity.py.
at::Tensor sound() {
  const std::filesystem::path tests = std::getenv("MYXTTS_TEST_DATA");
  const auto audio = read_audio(tests / "golden/audio/speech.wav");
  const auto speech = at::tensor(audio.samples);
  const auto time = at::arange(speech.size(0), at::kDouble);
  const auto tone = (0.2 * at::sin(time * 0.1)).to(at::kFloat);
  const auto hum = (0.02 * at::sin(time * 0.02)).to(at::kFloat);
  return at::cat({speech, tone.narrow(0, 0, 9000), speech * 0.1F + hum, at::zeros({9000}),
                  speech.narrow(0, 0, 20001)});
}

std::vector<float> heard(const std::vector<at::Tensor>& pieces) {
  VoiceActivity::Listener listener(network());
  for (const auto& piece : pieces) listener.add(piece);
  return listener.finish();
}

TEST(VoiceActivity, ProbabilitiesAreThoseOfTheReference) {
  const auto golden = read_golden("voice_activity/probabilities.safetensors").at("probabilities");
  const auto found = heard({sound()});
  ASSERT_EQ(std::ssize(found), golden.size(0));
  EXPECT_LT(max_abs_difference(at::tensor(found), golden), 1e-4);
}

TEST(VoiceActivity, HowTheSoundComesInPiecesChangesNothing) {
  const auto whole = sound();
  std::vector<at::Tensor> pieces;
  std::int64_t at = 0;
  for (std::int64_t size = 1; at < whole.size(0); size = size * 2 + 7) {
    const auto taken = std::min(size, whole.size(0) - at);
    pieces.push_back(whole.narrow(0, at, taken));
    at += taken;
  }
  const auto expected = heard({whole});
  const auto found = heard(pieces);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(VoiceActivity, TheLastWindowNeedNotBeWhole) {
  EXPECT_EQ(heard({at::zeros({kSpeechWindow})}).size(), 1U);
  EXPECT_EQ(heard({at::zeros({kSpeechWindow + 1})}).size(), 2U);
  EXPECT_TRUE(heard({}).empty());
}

std::string refusal(const std::filesystem::path& file) {
  try {
    const VoiceActivity opened(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(VoiceActivity, WeightsOfSomethingElseAreRefused) {
  const TemporaryFolder folder;
  write_tensors(folder / "other.safetensors", {{"stft_conv.weight", at::zeros({258, 1, 256})},
                                               {"conv1.weight", at::zeros({128, 129, 5})}});
  const auto shape = refusal(folder / "other.safetensors");
  EXPECT_NE(shape.find("conv1.weight is of another shape"), std::string::npos) << shape;
  EXPECT_NE(shape.find("Type tools/setup"), std::string::npos) << shape;
  write_tensors(folder / "none.safetensors", {{"a", at::zeros({1})}});
  EXPECT_NE(refusal(folder / "none.safetensors").find("stft_conv.weight is missing"),
            std::string::npos);
}

TEST(VoiceActivity, MissingWeightsAreNamedWithWhatToType) {
  const TemporaryFolder folder;
  const Environment none({{"MYXTTS_SOUND_DATA", folder.path().string()}});
  try {
    VoiceActivity::with_fetched_weights();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("Type tools/setup in the checkout"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace myxtts::test::voice_activity_test
