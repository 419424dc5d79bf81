// SPDX-License-Identifier: Apache-2.0
#include "kernels/mel/sound_mel.h"

#include <cmath>
#include <complex>
#include <numbers>

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/mel/sound_mel_steps.cuh"

// The kernel's steps, each done for all lanes before the next: what a GPU's block does.

namespace myxtts::sound_mel_test {
namespace {

using namespace sound_mel;

constexpr int kLength = 30'000;  // of a row
constexpr int kCount = 20'000;   // samples of it that are not zeros

class SoundMelSteps : public testing::Test {
 protected:
  SoundMelSteps() {
    const RandomStream random(3, "sound");
    for (std::uint64_t i = 0; i < kCount; ++i) {
      samples_.push_back(static_cast<std::int16_t>(random.integer(i, -9000, 9000)));
    }
    for (int i = 0; i < kSoundWindow; ++i) {
      window_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(2 * kPi * i / kSoundWindow)));
    }
    const MelConfig mel{.fft_size = kSoundFft, .bands = 1};
    const std::vector<float> filters(kSoundFft / 2 + 1, 1.0F);
    for (const float part : sound_mel_tables(mel, window_, filters).roots) roots_.push_back(part);
  }

  std::vector<float> powers(int first) const {
    const auto* roots = reinterpret_cast<const Complex*>(roots_.data());
    std::vector<Complex> points(kPoints);
    std::vector<Four> held(kSoundThreads);
    const auto each = [&](const auto& work) {
      for (int lane = 0; lane < kSoundThreads; ++lane)
        work(held[static_cast<std::size_t>(lane)], lane);
    };
    each([&](Four& own, int lane) { own = first_numbers(row(), window_.data(), first, lane); });
    each([&](Four& own, int lane) { store(points.data(), own, 1, lane); });
    for (int done = 4; done < kPoints; done *= 4) {
      each([&](Four& own, int lane) { own = next_numbers(points.data(), roots, done, lane); });
      each([&](Four& own, int lane) { store(points.data(), own, done, lane); });
    }
    std::vector<float> all;
    for (int bin = 0; bin <= kPoints; ++bin) all.push_back(power(points.data(), roots, bin));
    return all;
  }

  // By the definition.
  double expected(int first, int bin) const {
    std::complex<double> sum = 0;
    for (int i = 0; i < kSoundWindow; ++i) {
      int place = std::abs(first + i);
      if (place >= kLength) place = 2 * (kLength - 1) - place;
      if (place >= kCount) continue;
      const double value = samples_[static_cast<std::size_t>(place)] / 32768.0;
      sum += value * window_[static_cast<std::size_t>(i)] *
             std::polar(1.0, -2 * kPi * bin * i / kSoundFft);
    }
    return std::norm(sum);
  }

  Row row() const { return {.samples = samples_.data(), .count = kCount, .length = kLength}; }

  static constexpr double kPi = std::numbers::pi;
  std::vector<std::int16_t> samples_;
  std::vector<float> window_;
  std::vector<float> roots_;
};

TEST_F(SoundMelSteps, GiveThePowersOfTheFourierTransform) {
  for (const int first : {-512, -256, 0, 7'000, kCount - 300}) {
    const auto found = powers(first);
    double most = 0;
    for (const float own : found) most = std::max<double>(most, own);
    for (const int bin : {0, 1, 2, 3, 17, 255, 256, 511, 512, 743, 1023, 1024}) {
      EXPECT_NEAR(found[static_cast<std::size_t>(bin)], expected(first, bin), 1e-6 * most)
          << "bin " << bin << " of the frame at " << first;
    }
  }
}

TEST_F(SoundMelSteps, AFrameIsSilentWhereNoSampleCanBeHeard) {
  EXPECT_FALSE(is_silent(row(), -512));
  EXPECT_FALSE(is_silent(row(), kCount - 1));
  EXPECT_TRUE(is_silent(row(), kCount));
  EXPECT_TRUE(is_silent(row(), kLength - 300)) << "what is reflected there is silent as well";
  const Row nearly_whole{.samples = samples_.data(), .count = kCount, .length = kCount + 100};
  EXPECT_FALSE(is_silent(nearly_whole, kCount - 100)) << "sound is reflected into the frame";
  EXPECT_TRUE(is_silent({.samples = nullptr, .count = 0, .length = kLength}, -512));
}

TEST(SoundMelTables, KeepOfEachBandTheWeightsBetweenItsFirstAndLast) {
  const MelConfig mel{.fft_size = 8, .window = 2, .bands = 3};
  const std::vector<float> filters = {0, 0, 0,  // bin 0
                                      1, 0, 0,  // bin 1
                                      0, 2, 0,  // bin 2
                                      3, 4, 0,  // bin 3
                                      0, 0, 0};
  const auto tables = sound_mel_tables(mel, std::vector<float>{1, 1}, filters);
  EXPECT_EQ(tables.weights, (std::vector<float>{1, 0, 3, 2, 4}));
  EXPECT_EQ(tables.band_starts, (std::vector<std::int32_t>{0, 3, 5, 5}));
  EXPECT_EQ(tables.band_bins[0], 1);
  EXPECT_EQ(tables.band_bins[1], 2);
  EXPECT_EQ(tables.roots.size(), 16U);
}

}  // namespace
}  // namespace myxtts::sound_mel_test
