// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_maker.h"

#include <cmath>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

namespace myxtts::test::sound_check_test {
namespace {

SoundCourse talk(float voice, float quiet) {
  SoundCourse course;
  for (int i = 0; i < 1000; ++i) {
    const bool speaks = i % 100 >= 30;
    course.level.push_back(speaks ? voice : quiet);
    course.clipped.push_back(0);
  }
  course.speech.assign(313, 0.95F);
  return course;
}

std::string fault_of(const SoundCourse& course, bool tonal = false) {
  const auto fault = sound_fault(sound_figures(course, 2, 8), 15, tonal);
  return fault ? fault->name : "none";
}

TEST(SoundCheck, FiguresAreThoseOfTheSound) {
  const auto figures = sound_figures(talk(-20, -60), 2, 8);
  EXPECT_NEAR(figures.level, -20, 0.1);
  EXPECT_NEAR(figures.snr, 40, 0.5);
  EXPECT_NEAR(figures.speech, 0.95, 1e-4);
  EXPECT_EQ(figures.clipped, 0);
}

TEST(SoundCheck, EachFaultIsFoundAndNothingElse) {
  EXPECT_EQ(fault_of(talk(-20, -60)), "none");
  EXPECT_EQ(fault_of(talk(-20, -40)), "none");
  EXPECT_EQ(fault_of(talk(-20, -32)), "noise");
  EXPECT_EQ(fault_of(talk(-20, -32), true), "music");
  EXPECT_EQ(fault_of(talk(-70, -95)), "silence");
  auto clipped = talk(-20, -60);
  for (std::size_t i = 400; i < 410; ++i) clipped.clipped[i] = 0.5F;
  EXPECT_EQ(fault_of(clipped), "clipping");
  auto doubtful = talk(-20, -60);
  doubtful.speech.assign(313, 0.4F);
  EXPECT_EQ(fault_of(doubtful), "noise");
  EXPECT_EQ(fault_of(doubtful, true), "music");
}

TEST(SoundCheck, NothingHasNoFigures) {
  EXPECT_EQ(fault_of(SoundCourse()), "silence");
}

at::Tensor time_of(double seconds) {
  return at::arange(static_cast<std::int64_t>(seconds * kClipRate), at::kDouble) / kClipRate;
}

at::Tensor chord(double seconds) {
  auto sum = at::zeros({static_cast<std::int64_t>(seconds * kClipRate)}, at::kDouble);
  for (const double pitch : {220.0, 277.2, 329.6, 440.0, 554.4, 659.3, 880.0, 1318.5}) {
    sum += at::sin(time_of(seconds) * (2 * M_PI * pitch));
  }
  return (sum * 0.05).to(at::kFloat);
}

TEST(SoundCheck, ChordsAreTonalAndNoiseIsNot) {
  const auto noise = at::randn({kClipRate * 3}) * 0.05;
  EXPECT_FALSE(is_tonal(noise));
  EXPECT_TRUE(is_tonal(chord(3) + 0.0005 * at::randn({kClipRate * 3})));
  const auto hum = (0.05 * at::sin(time_of(3) * (2 * M_PI * 50))).to(at::kFloat);
  EXPECT_FALSE(is_tonal(hum + 0.001 * at::randn({kClipRate * 3})));
  EXPECT_FALSE(is_tonal(at::zeros({100})));
}

TEST(SoundCheck, AllClipsGetOneLoudness) {
  const auto sound = chord(3);
  const auto loud = at_clip_loudness(sound);
  const auto quiet = at_clip_loudness(sound * 0.01);
  EXPECT_LT((loud - quiet).abs().max().item<double>(), 1e-5);
  EXPECT_NEAR(10 * std::log10(loud.square().mean().item<double>()), kClipLoudness, 0.2);
  // Pauses do not make it louder.
  const auto paused = at_clip_loudness(at::cat({sound, at::zeros({kClipRate * 3})}));
  EXPECT_LT(
      (paused.slice(0, 0, kClipRate) - loud.slice(0, 0, kClipRate)).abs().max().item<double>(),
      1e-3);
  auto peaked = sound * 0.01;
  peaked[1000] = 1.0F;
  EXPECT_NEAR(at_clip_loudness(peaked).abs().max().item<double>(), 0.891, 0.01);
  EXPECT_EQ(at_clip_loudness(at::zeros({10})).size(0), 10);
}

}  // namespace
}  // namespace myxtts::test::sound_check_test
