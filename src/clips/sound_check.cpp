// SPDX-License-Identifier: Apache-2.0
#include "clips/sound_check.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace myxtts {
namespace {

constexpr double kAround = 4.0;         // seconds on each side in which silence is looked for
constexpr double kBelowLoudest = 25.0;  // dB: what is as loud as that is voice
constexpr double kSilentLevel = -60.0;  // dB of full scale
constexpr double kTonal = -2.5;         // dB; noise is at -0.4, held tones below -4
constexpr double kLongestLook = 10.0;   // seconds
constexpr double kPeak = 0.891;         // -1 dB

struct Steps {
  std::size_t first, last;
};

Steps steps_of(const std::vector<float>& values, double begin, double end) {
  const auto size = static_cast<double>(values.size());
  const auto first = std::clamp(std::round(begin / kLevelStep), 0.0, size);
  const auto last = std::clamp(std::round(end / kLevelStep), first, size);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

double decibels(double power) {
  return 10.0 * std::log10(std::max(power, 1e-10));
}

}  // namespace

SoundFigures sound_figures(const SoundCourse& course, double begin, double end) {
  SoundFigures figures;
  const double least = loud_level(course, begin, end) - kBelowLoudest;
  const auto [first, last] = steps_of(course.level, begin, end);
  double power = 0;
  double speech = 0;
  double clipped = 0;
  std::size_t loud = 0;
  for (std::size_t step = first; step < last; ++step) {
    if (step < course.clipped.size()) clipped += course.clipped[step];
    if (course.level[step] < least) continue;
    ++loud;
    power += std::pow(10.0, course.level[step] / 10.0);
    const auto window =
        static_cast<std::size_t>(static_cast<double>(step) * kLevelStep / kSpeechStep);
    if (window < course.speech.size()) speech += course.speech[window];
  }
  if (loud == 0) return {.level = kQuietest, .snr = 0, .clipped = 0, .speech = 0};
  figures.level = decibels(power / static_cast<double>(loud));
  figures.snr = figures.level - quiet_level(course, begin - kAround, end + kAround);
  figures.speech = speech / static_cast<double>(loud);
  figures.clipped = clipped / static_cast<double>(last - first);
  return figures;
}

std::optional<LeftOutReason> sound_fault(const SoundFigures& figures, const SoundLimits& limits,
                                         bool is_tonal) {
  if (figures.level < limits.min_level) {
    return LeftOutReason{"silence",
                         fmt::format("What is heard is at {:.0f} dB of full scale; a voice is "
                                     "expected at {:.0f} dB or above.",
                                     figures.level, limits.min_level)};
  }
  if (figures.clipped > limits.max_clipped) {
    return LeftOutReason{"clipping", fmt::format("{:.1f} % of its samples stand at full scale; at "
                                                 "most {:.1f} % may.",
                                                 100 * figures.clipped, 100 * limits.max_clipped)};
  }
  if (figures.speech < limits.min_speech) {
    return LeftOutReason{is_tonal ? "music" : "noise",
                         fmt::format("It may be no speech: its probability is {:.2f}, at least "
                                     "{:.2f} is wanted.",
                                     figures.speech, limits.min_speech)};
  }
  if (figures.snr < limits.min_snr) {
    return LeftOutReason{
        is_tonal ? "music" : "noise",
        fmt::format("The voice is {:.0f} dB above {}; at least {:.0f} dB are wanted.", figures.snr,
                    is_tonal ? "the music" : "the noise", limits.min_snr)};
  }
  return std::nullopt;
}

LeftOutReason kind_of_pause(const SoundCourse& course, const Recording& recording, double begin,
                            double end) {
  const double loud = loud_level(course, begin, end);
  const double voice = loud_level(course, 0, course.seconds());
  if (loud < std::max(kSilentLevel, voice - 40.0)) {
    return {"silence", fmt::format("Nobody speaks for {:.1f} s.", end - begin)};
  }
  const double middle = (begin + end) / 2;
  const double from = std::max(begin, middle - kLongestLook / 2);
  const double to = std::min(end, middle + kLongestLook / 2);
  const auto sound = recording.sound(std::llround(from * kClipRate), std::llround(to * kClipRate));
  const bool music = is_tonal(sound);
  return {music ? "music" : "noise",
          fmt::format("{} without speech for {:.1f} s.", music ? "Music" : "Noise", end - begin)};
}

// Noise, averaged over eight frames, is nearly even from bin to bin; held tones stand out of the
// bins around them. So the mean logarithm of each bin against its neighbours tells them apart.
bool is_tonal(const at::Tensor& sound) {
  constexpr std::int64_t kSize = 2048;
  constexpr std::int64_t kFirst = 19;   // bins; 200 Hz, above the hum and its first harmonics
  constexpr std::int64_t kCount = 440;  // up to 4,900 Hz
  constexpr std::int64_t kAtOnce = 8;
  if (sound.size(0) < kSize * 3) return false;
  const auto power =
      at::stft(sound, kSize, kSize / 4, kSize, at::hann_window(kSize), false, false, true, true)
          .abs()
          .square()
          .narrow(0, kFirst, kCount)
          .t();  // [frames, bins]
  const auto groups = power.size(0) / kAtOnce;
  if (groups == 0) return false;
  const auto mean = power.narrow(0, 0, groups * kAtOnce).view({groups, kAtOnce, kCount}).mean(1);
  const auto around = at::avg_pool1d(mean.unsqueeze(1), 41, 1, 20, false, false).squeeze(1);
  const auto ratio = (mean.clamp_min(1e-12).log10() - around.clamp_min(1e-12).log10()) * 10.0;
  return ratio.mean(1).median().item<double>() < kTonal;
}

at::Tensor at_clip_loudness(const at::Tensor& sound) {
  constexpr std::int64_t kStep = kClipRate / 100;
  const auto steps = sound.size(0) / kStep;
  if (steps == 0) return sound;
  const auto power = sound.narrow(0, 0, steps * kStep).view({steps, kStep}).square().mean(1);
  const auto least = power.max() * std::pow(10.0, -kBelowLoudest / 10.0);
  const double loudness = decibels(power.masked_select(power >= least).mean().item<double>());
  const double peak = sound.abs().max().item<double>();
  const double gain = std::pow(10.0, (kClipLoudness - loudness) / 20.0);
  return sound * std::min(gain, kPeak / std::max(peak, 1e-6));
}

}  // namespace myxtts
