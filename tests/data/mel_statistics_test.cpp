// SPDX-License-Identifier: Apache-2.0
#include "data/mel_statistics.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "base/error.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts::test::mel_statistics_test {
namespace {

// Clips of one to three seconds, the second one at another rate.
class MelStatisticsOfClips : public ::testing::Test {
 protected:
  MelStatisticsOfClips() {
    for (std::size_t i = 0; i < 6; ++i) {
      const std::int64_t rate = i == 1 ? 16'000 : 22'050;
      const auto path = folder_.path() / fmt::format("{}.wav", i);
      const auto sound = made_sound(1.0 + 0.3 * static_cast<double>(i), i + 1, rate);
      write_sound(path, sound, SoundFormat::Wav16);
      rows_.push_back({.id = fmt::format("clip{}", i),
                       .audio = path.string(),
                       .text = "words",
                       .source_rate = rate,
                       .source_frames = std::ssize(sound.samples)});
    }
  }

  Corpus corpus(const std::vector<std::size_t>& clips) const {
    std::vector<ClipRow> rows;
    for (const std::size_t clip : clips) rows.push_back(rows_[clip]);
    return Corpus::of(rows);
  }

  TemporaryFolder folder_;
  std::vector<ClipRow> rows_;
};

// The definition, word for word, in double: reflect, window, Fourier sum, bands, log, mean square.
std::vector<double> by_definition(const std::vector<std::int16_t>& samples) {
  constexpr int kSize = 1024;
  constexpr int kHop = 256;
  const auto filters = mel_filters(dvae_mel_config()).to(at::kDouble);  // [513, 80]
  const auto length = static_cast<int>(samples.size());
  std::vector<std::complex<double>> turns(kSize);
  for (int i = 0; i < kSize; ++i) turns[i] = std::polar(1.0, -2.0 * std::numbers::pi * i / kSize);
  std::vector<double> squares(80);
  const int frames = 1 + length / kHop;
  for (int frame = 0; frame < frames; ++frame) {
    std::vector<double> windowed(kSize);
    for (int i = 0; i < kSize; ++i) {
      int place = std::abs(frame * kHop + i - kSize / 2);
      if (place >= length) place = 2 * (length - 1) - place;
      const double hann = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * i / kSize);
      windowed[i] = hann * samples[place] / 32'768.0;
    }
    std::vector<double> power(kSize / 2 + 1);
    for (int bin = 0; bin <= kSize / 2; ++bin) {
      std::complex<double> sum;
      for (int i = 0; i < kSize; ++i) sum += windowed[i] * turns[bin * i % kSize];
      power[bin] = std::norm(sum);
    }
    for (int band = 0; band < 80; ++band) {
      double energy = 0;
      for (int bin = 0; bin <= kSize / 2; ++bin) {
        energy += power[bin] * filters[bin][band].item<double>();
      }
      squares[band] += std::pow(std::log(std::max(energy, 1e-5)), 2) / frames;
    }
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

TEST_F(MelStatisticsOfClips, AreTheRootOfTheMeanSquareOfTheLogMel) {
  const auto found = mel_statistics(corpus({0}));
  const auto wanted = by_definition(as_16_bits(made_sound(1.0, 1)));
  ASSERT_EQ(found.scale.sizes(), at::IntArrayRef({80}));
  for (int band = 0; band < 80; ++band) {
    EXPECT_NEAR(found.scale[band].item<double>() / wanted[band], 1.0, 1e-5) << "band " << band;
  }
  EXPECT_EQ(found.clips, 1);
  EXPECT_NEAR(found.minutes, 1.0 / 60.0, 1e-6);
}

// Frames count, not clips.
TEST_F(MelStatisticsOfClips, WeighAClipByItsLength) {
  const auto one = mel_statistics(corpus({0})).scale.square();
  const auto other = mel_statistics(corpus({5})).scale.square();
  const double a = 1 + 22'050 / 256;
  const double b = 1 + 55'125 / 256;
  const auto both = mel_statistics(corpus({0, 5})).scale.square();
  EXPECT_LE(((one * a + other * b) / (a + b) / both - 1).abs().max().item<double>(), 1e-6);
}

TEST_F(MelStatisticsOfClips, AreEqualBitForBitWithAnyNumberOfThreads) {
  const auto all = corpus({0, 1, 2, 3, 4, 5});
  const auto one = mel_statistics(all, 0, 1);
  EXPECT_EQ(one.clips, 6);
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(at::equal(mel_statistics(all, 0, threads).scale, one.scale)) << threads;
  }
}

TEST_F(MelStatisticsOfClips, OfMoreSoundThanAskedForAreThoseOfADrawBySeed) {
  const auto all = corpus({0, 1, 2, 3, 4, 5});
  const auto part = mel_statistics(all, 1, 1, 0.06);
  EXPECT_LT(part.clips, 6);
  EXPECT_GE(part.clips, 1);
  EXPECT_LE(part.minutes, 0.06);
  EXPECT_TRUE(at::equal(part.scale, mel_statistics(all, 1, 1, 0.06).scale));
  bool another = false;
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    another = another || !at::equal(part.scale, mel_statistics(all, seed, 1, 0.06).scale);
  }
  EXPECT_TRUE(another);
}

TEST_F(MelStatisticsOfClips, PassOverClipsThatCannotBeDecoded) {
  const auto wanted = mel_statistics(corpus({0}));
  write_text(rows_[3].audio, "no sound");
  const auto found = mel_statistics(corpus({0, 3}));
  EXPECT_EQ(found.clips, 1);
  EXPECT_TRUE(at::equal(found.scale, wanted.scale));
  EXPECT_THROW(mel_statistics(corpus({3})), DataError);
}

}  // namespace
}  // namespace myxtts::test::mel_statistics_test
