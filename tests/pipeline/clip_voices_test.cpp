// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sound_features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/resample.h"
#include "config/model.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"

namespace myxtts::clip_voices_test {
namespace {

constexpr std::int64_t kRate = 24'000;

class ClipVoicesOf : public testing::Test {
 protected:
  ClipVoicesOf() {
    NamedTensors tensors;
    for (const auto& [name, tensor] : initialise(speaker_encoder_specs(config_), 2)) {
      tensors.emplace(kSpeakerEncoderPrefix + name, tensor);
    }
    for (const auto& [name, tensor] : speaker_encoder_tables(config_)) {
      tensors.insert_or_assign(kSpeakerEncoderPrefix + name, tensor);
    }
    encoder_.emplace(config_, tensors);
  }

  // Noise whose colour is the clip's own.
  static ClipSound clip(ClipNumber number, std::int64_t samples) {
    at::manual_seed(number);
    const auto noise = at::randn({samples}) * 3000;
    const auto sound = (noise + noise.roll(1) * (0.3 * number)).clamp(-32000, 32000);
    return {.samples = sound.to(at::kShort), .rate = kRate, .number = number};
  }

  at::Tensor made(ClipVoices& voices, std::vector<ClipSound> clips, std::int64_t slots = 3) {
    auto out = at::full({slots, config_.output_dim}, 7.0);
    voices.make(clips, out);
    return out;
  }

  // Of the first `samples` at 16,000 Hz.
  at::Tensor expected(const ClipSound& clip, std::int64_t samples) const {
    const auto wave = clip.samples.to(at::kFloat) / 32768.0;
    const auto model_rate = Resampler(kRate, 22'050, at::kCPU)(wave).clamp(-1.0, 1.0);
    const auto heard = Resampler(22'050, 16'000, at::kCPU)(model_rate);
    return (*encoder_)(heard.narrow(0, 0, samples).unsqueeze(0)).squeeze(0);
  }

  SpeakerEncoderConfig config_ = model_preset("tiny").speaker_encoder;
  std::optional<SpeakerEncoder> encoder_;
};

TEST_F(ClipVoicesOf, AClipIsTheEncodersOfItsWholeQuartersOfASecond) {
  ClipVoices voices(*encoder_, at::kCPU);
  const auto long_clip = clip(1, 36'900);  // 24,600 samples at 16,000 Hz
  const auto short_clip = clip(2, 4'800);  // 3,200
  const auto out = made(voices, {long_clip, short_clip});
  EXPECT_TRUE(at::allclose(out[0], expected(long_clip, 24'000), 1e-4, 1e-6));
  EXPECT_FALSE(at::allclose(out[0], expected(long_clip, 20'000), 1e-4, 1e-6));
  EXPECT_TRUE(at::allclose(out[1], expected(short_clip, 3'200), 1e-4, 1e-6));
  EXPECT_EQ(out[2].abs().max().item<float>(), 0) << "a place without a clip";
}

TEST_F(ClipVoicesOf, EachClipIsHeardOnce) {
  ClipVoices voices(*encoder_, at::kCPU);
  const auto first = made(voices, {clip(1, 24'000), clip(2, 24'000)});
  EXPECT_EQ(voices.encoded(), 2);
  auto silence = clip(1, 24'000);
  silence.samples.zero_();
  const auto again = made(voices, {clip(2, 24'000), silence});
  EXPECT_EQ(voices.encoded(), 2);
  EXPECT_TRUE(at::equal(again[0], first[1]));
  EXPECT_TRUE(at::equal(again[1], first[0]));
  made(voices, {clip(3, 24'000)});
  EXPECT_EQ(voices.encoded(), 3);
}

TEST_F(ClipVoicesOf, MoreClipsThanAreKeptAreHeardAgain) {
  ClipVoices voices(*encoder_, at::kCPU, /*most_kept=*/1);
  const auto first = made(voices, {clip(1, 24'000), clip(2, 24'000)});
  const auto again = made(voices, {clip(1, 24'000), clip(2, 24'000)});
  EXPECT_EQ(voices.encoded(), 3);
  EXPECT_TRUE(at::equal(again, first));
}

TEST_F(ClipVoicesOf, ABatchWithoutClipsHasNoVoices) {
  ClipVoices voices(*encoder_, at::kCPU);
  EXPECT_EQ(made(voices, {}).abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace myxtts::clip_voices_test
