// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/clip_survey.h"

#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/progress.h"
#include "base/thread_group.h"

namespace myxtts {
namespace {

constexpr double kSilence = -100.0;

}  // namespace

double loudness_db(std::span<const std::int16_t> samples) {
  double sum = 0.0;
  for (const std::int16_t sample : samples) sum += static_cast<double>(sample) * sample;
  if (sum == 0.0) return kSilence;
  const double mean = sum / static_cast<double>(samples.size()) / (32768.0 * 32768.0);
  return std::max(kSilence, 10.0 * std::log10(mean));
}

void survey_clips(const Corpus& corpus, std::span<const ClipNumber> clips, std::size_t workers,
                  const std::function<void(std::size_t, const DecodedClip&)>& visit,
                  SkipList& skipped) {
  Progress progress({.title = "Listening to clips", .total = clips.size()});
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (auto place = next++; place < clips.size(); place = next++) {
      const auto view = corpus.clip(clips[place]);
      auto decoded = decode_clip(std::string(view.audio));
      if (auto* bad = std::get_if<Skipped>(&decoded)) {
        bad->manifest = std::string(view.manifest);
        bad->line = view.line;
        skipped.add(std::move(*bad));
      } else {
        visit(place, std::get<DecodedClip>(decoded));
      }
      progress.advance();
    }
  };
  // One that fails ends the others after their clip.
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      next = clips.size();
      throw;
    }
  };
  ThreadGroup threads;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    threads.start("survey-" + std::to_string(worker), guarded);
  }
  threads.join();
}

}  // namespace myxtts
