// SPDX-License-Identifier: Apache-2.0
#include "data/mel_statistics.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/thread_group.h"
#include "data/clip_decoder.h"

namespace myxtts {
namespace {

constexpr double kFullScale = 32'768.0;

// Of one clip. No frames: it could not be used.
struct ClipSum {
  at::Tensor squares;  // [bands] double
  std::int64_t frames = 0;
  std::int64_t samples = 0;
};

std::vector<ClipNumber> drawn_clips(const Corpus& corpus, std::uint64_t seed, double most_minutes) {
  const auto training = corpus.training();
  const auto most = most_minutes * 60.0 * static_cast<double>(kModelRate);
  double samples = 0;
  std::vector<ClipNumber> drawn;
  const RandomStream random(seed, "data/mel_statistics");
  for (const std::size_t i : random.permutation(training.size())) {
    samples += static_cast<double>(corpus.samples(training[i]));
    if (!drawn.empty() && samples > most) break;
    drawn.push_back(training[i]);
  }
  return drawn;
}

// Sums over clips, one thread's.
class ClipMeasure {
 public:
  ClipSum operator()(const std::string& path) {
    const auto decoded = decode_clip(path);
    const auto* clip = std::get_if<DecodedClip>(&decoded);
    if (clip == nullptr) return {};
    const auto wave = resampled(*clip);
    if (wave.size(0) < mel_.minimum_samples()) return {};
    const auto log_mel =
        normalised_log_mel(mel_(wave.unsqueeze(0)), ones_).squeeze(0).to(at::kDouble);
    return {.squares = log_mel.square().sum(1), .frames = log_mel.size(1), .samples = wave.size(0)};
  }

 private:
  at::Tensor resampled(const DecodedClip& clip) {
    const auto wave = at::empty({std::ssize(clip.samples)}, at::kFloat);
    std::ranges::transform(clip.samples, wave.mutable_data_ptr<float>(), [](std::int16_t sample) {
      return static_cast<float>(sample / kFullScale);
    });
    if (clip.sample_rate == kModelRate) return wave;
    const auto& resampler =
        resamplers_.try_emplace(clip.sample_rate, clip.sample_rate, kModelRate, at::kCPU)
            .first->second;
    return resampler(wave).clamp_(-1.0, 1.0);
  }

  const MelSpectrogram mel_{dvae_mel_config(), at::kCPU};
  const at::Tensor ones_ = at::ones({dvae_mel_config().bands}, at::kFloat);
  std::map<std::int64_t, Resampler> resamplers_;
};

std::vector<ClipSum> measured(const Corpus& corpus, const std::vector<ClipNumber>& clips,
                              int threads) {
  std::vector<ClipSum> sums(clips.size());
  std::atomic<std::size_t> next = 0;
  Progress progress({.title = "Measuring the scale of mel spectrograms", .total = clips.size()});
  const int threads_before = at::get_num_threads();
  ThreadGroup group;
  for (int i = 0; i < std::max(threads, 1); ++i) {
    group.start("mel-statistics", [&] {
      at::set_num_threads(1);  // a clip is one thread's work, so its bits are always the same
      const at::NoGradGuard no_grad;
      ClipMeasure measure;
      for (std::size_t clip = next++; clip < clips.size(); clip = next++) {
        sums[clip] = measure(std::string(corpus.clip(clips[clip]).audio));
        progress.advance();
      }
    });
  }
  group.join();
  at::set_num_threads(threads_before);  // threads of later take it over
  return sums;
}

}  // namespace

MelStatistics mel_statistics(const Corpus& corpus, std::uint64_t seed, int threads,
                             double most_minutes) {
  const auto clips = drawn_clips(corpus, seed, most_minutes);
  auto squares = at::zeros({dvae_mel_config().bands}, at::kDouble);
  std::int64_t frames = 0;
  MelStatistics statistics;
  for (const auto& sum : measured(corpus, clips, threads)) {  // in the order of the draw
    if (sum.frames == 0) continue;
    squares += sum.squares;
    frames += sum.frames;
    ++statistics.clips;
    statistics.minutes += static_cast<double>(sum.samples) / static_cast<double>(kModelRate) / 60.0;
  }
  if (frames == 0) {
    throw DataError(fmt::format(
        "None of {} training clips could be decoded, so there is nothing to measure the scale of "
        "mel spectrograms on; see what is wrong with them with: myxtts validate",
        clips.size()));
  }
  statistics.scale = (squares / static_cast<double>(frames)).sqrt().to(at::kFloat);
  return statistics;
}

}  // namespace myxtts
