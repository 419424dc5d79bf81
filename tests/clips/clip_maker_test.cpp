// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_maker.h"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "audio/audio_file.h"
#include "clips/voice_activity.h"
#include "support/temporary_folder.h"

namespace myxtts::test::clip_maker_test {
namespace {

namespace fs = std::filesystem;

// A word of a second, as people speak.
at::Tensor speech() {
  const fs::path tests = std::getenv("MYXTTS_TEST_DATA");
  return at::tensor(read_audio(tests / "golden/audio/speech.wav").samples);
}

at::Tensor quiet(double seconds) {
  return at::randn({std::llround(seconds * kClipRate)}) * 1e-4;
}

at::Tensor music(double seconds) {
  const auto time = at::arange(std::llround(seconds * kClipRate), at::kDouble) / kClipRate;
  auto sum = at::zeros_like(time);
  for (const double pitch : {261.6, 329.6, 392.0, 523.3}) {
    sum += at::sin(time * (2 * M_PI * pitch));
  }
  return (sum * 0.05).to(at::kFloat);
}

class ClipMaker : public testing::Test {
 protected:
  // Cuts a sound; what is said is "text" wherever anything is.
  RecordingClips cut(const at::Tensor& sound, ClipSettings settings = {}) {
    const auto plain = sound.contiguous();
    write_wav(folder_ / "a.wav",
              {plain.const_data_ptr<float>(), static_cast<std::size_t>(plain.numel())}, kClipRate);
    Recording recording(folder_ / "a.wav", folder_.path());
    recording.listen(VoiceActivity::with_fetched_weights());
    SpokenText text;
    text.between = [this](double begin, double end) -> std::optional<ClipText> {
      if (begin < unknown_.second && end > unknown_.first) return std::nullopt;
      return ClipText{.text = "text", .confidence = confidence_};
    };
    RecordingClips made{.recording = "a"};
    cut_recording(recording, text, settings, nullptr, corpus_, made);
    return made;
  }
  double left_out(const RecordingClips& made, const std::string& reason) const {
    double seconds = 0;
    for (const LeftOut& stretch : made.left_out) {
      if (stretch.reason.name == reason) seconds += stretch.end - stretch.begin;
    }
    return seconds;
  }

  double confidence_ = 1;
  std::pair<double, double> unknown_{-1, -1};  // where what is said is not in the text
  TemporaryFolder folder_;
  CorpusFolder corpus_{folder_ / "corpus"};
};

TEST_F(ClipMaker, SpeechBecomesClipsOfOneLoudnessAndTheRestIsListed) {
  const auto one = speech();
  const auto made =
      cut(at::cat({quiet(1.5), one, quiet(0.3), one, quiet(0.3), one, quiet(2), music(4), quiet(2),
                   one * 0.2, quiet(0.3), one * 0.2, quiet(0.3), one * 0.2, quiet(1)}));
  ASSERT_EQ(made.clips.size(), 2U);
  EXPECT_NEAR(made.clips[0].begin, 1.5 - 0.15, 0.12);
  EXPECT_EQ(made.clips[0].name, fmt::format("a-{:08}", std::llround(made.clips[0].begin * 1000)));
  std::vector<double> levels;
  for (const MadeClip& clip : made.clips) {
    const auto audio = read_audio(corpus_.wav(clip.name));
    EXPECT_EQ(audio.sample_rate, 22'050);
    EXPECT_EQ(audio.channels, 1);
    EXPECT_NEAR(static_cast<double>(audio.frames()) / 22'050, clip.end - clip.begin, 0.001);
    levels.push_back(at::tensor(audio.samples).square().mean().item<double>());
    EXPECT_GT(clip.sound.snr, 30);
    EXPECT_GT(clip.sound.speech, 0.8);
  }
  EXPECT_NEAR(10 * std::log10(levels[0] / levels[1]), 0, 0.5) << "one was 14 dB quieter";
  EXPECT_GT(left_out(made, "music") + left_out(made, "silence"), 5);
  EXPECT_NEAR(made.seconds, 1.5 + 6 * 24'000 / 22'050.0 + 1.2 + 2 + 4 + 2 + 1, 0.01);
}

TEST_F(ClipMaker, WhatIsWrongWithAStretchIsItsReason) {
  const auto one = speech();
  const auto three = at::cat({one, quiet(0.3), one, quiet(0.3), one});
  const auto around = [&](const at::Tensor& sound) { return at::cat({quiet(1), sound, quiet(1)}); };
  EXPECT_EQ(cut(around(three)).clips.size(), 1U);

  const auto clipped = cut(around((three * 30).clamp(-1, 1)));
  EXPECT_TRUE(clipped.clips.empty());
  EXPECT_GT(left_out(clipped, "clipping"), 3);

  const auto loud_room =
      cut(at::cat({quiet(1), three, quiet(1)}) + at::randn({three.size(0) + 2 * kClipRate}) * 0.06);
  EXPECT_TRUE(loud_room.clips.empty());
  EXPECT_GT(left_out(loud_room, "noise"), 2);

  const auto alone = cut(around(one));
  EXPECT_TRUE(alone.clips.empty());
  EXPECT_NEAR(left_out(alone, "too-short"), 1, 0.3);

  ClipSettings settings;
  settings.cuts.max_seconds = 2.0;
  settings.cuts.min_seconds = 0.5;
  const auto close = at::cat({one, one, one});
  EXPECT_GT(left_out(cut(around(close), settings), "too-long"), 2.5);

  confidence_ = 0.5;
  const auto unsure = cut(around(three));
  EXPECT_TRUE(unsure.clips.empty());
  EXPECT_GT(left_out(unsure, "unsure"), 3);
  EXPECT_TRUE(
      std::ranges::any_of(unsure.left_out, [](const LeftOut& out) { return out.text == "text"; }));
}

TEST_F(ClipMaker, WhatIsNotInTheTextDoesNotSpoilItsNeighbours) {
  const auto one = speech();
  unknown_ = {5.2, 5.8};
  std::vector<at::Tensor> parts{quiet(1)};
  for (int i = 0; i < 8; ++i) parts.insert(parts.end(), {one, quiet(0.4)});
  const auto made = cut(at::cat(parts));
  EXPECT_GE(made.clips.size(), 2U);
  EXPECT_GT(left_out(made, "no-text"), 0.7);
  for (const MadeClip& clip : made.clips) EXPECT_TRUE(clip.end < 5.3 || clip.begin > 5.7);
}

TEST_F(ClipMaker, SilenceHasNoClips) {
  const auto made = cut(at::zeros({kClipRate * 5}));
  EXPECT_TRUE(made.clips.empty());
  EXPECT_NEAR(left_out(made, "silence"), 5, 0.1);
}

}  // namespace
}  // namespace myxtts::test::clip_maker_test
