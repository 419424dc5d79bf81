// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/corpus_report.h"

#include <algorithm>
#include <cmath>

namespace myxtts {
namespace {

constexpr std::size_t kFewestClips = 20;  // that a language's usual pace is known from
constexpr double kFarOut = 4.0;           // robust standard deviations
// No reader is steadier than this, in log characters a second: about 8 %.
constexpr double kLeastDeviation = 0.08;
constexpr double kMedianToDeviation = 1.4826;  // of normal values

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void add(ClipGroup& group, const ClipFacts& clip) {
  ++group.clips;
  group.hours += clip.seconds / 3600.0;
}

struct UsualPace {
  double log_median = 0.0;
  double deviation = kLeastDeviation;
};

UsualPace usual_pace(const std::vector<double>& log_paces) {
  UsualPace usual{.log_median = median(log_paces)};
  std::vector<double> distances;
  for (const double pace : log_paces) distances.push_back(std::abs(pace - usual.log_median));
  usual.deviation = std::max(kLeastDeviation, kMedianToDeviation * median(distances));
  return usual;
}

std::vector<double> values_of(std::span<const ClipFacts> clips, double ClipFacts::*member) {
  std::vector<double> values;
  values.reserve(clips.size());
  for (const auto& clip : clips) values.push_back(clip.*member);
  return values;
}

}  // namespace

std::vector<SuspiciousClip> find_suspicious(std::span<const ClipFacts> clips) {
  std::map<std::string_view, std::vector<double>> by_language;
  for (const auto& clip : clips) {
    if (clip.chars_per_second > 0.0) {
      by_language[clip.language].push_back(std::log(clip.chars_per_second));
    }
  }
  std::map<std::string_view, UsualPace> usual;
  for (const auto& [language, paces] : by_language) {
    if (paces.size() >= kFewestClips) usual.emplace(language, usual_pace(paces));
  }

  std::vector<SuspiciousClip> found;
  for (const auto& clip : clips) {
    const auto known = usual.find(clip.language);
    if (known == usual.end() || clip.chars_per_second <= 0.0) continue;
    const auto& [log_median, deviation] = known->second;
    const double distance = (std::log(clip.chars_per_second) - log_median) / deviation;
    if (std::abs(distance) < kFarOut) continue;
    found.push_back({.id = std::string(clip.id),
                     .audio = std::string(clip.audio),
                     .text = std::string(clip.text),
                     .chars_per_second = clip.chars_per_second,
                     .usual = std::exp(log_median),
                     .distance = distance});
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    return std::abs(a.distance) > std::abs(b.distance);
  });
  return found;
}

CorpusReport make_corpus_report(std::string title, std::span<const ClipFacts> clips) {
  CorpusReport report;
  report.title = std::move(title);
  for (const auto& clip : clips) {
    add(report.all, clip);
    add(report.languages[std::string(clip.language)], clip);
    add(report.speakers[std::string(clip.speaker)], clip);
    add(report.sample_rates[clip.sample_rate], clip);
  }
  report.seconds = make_histogram(values_of(clips, &ClipFacts::seconds));
  report.loudness = make_histogram(values_of(clips, &ClipFacts::loudness_db));
  report.pace = make_histogram(values_of(clips, &ClipFacts::chars_per_second));
  report.suspicious = find_suspicious(clips);
  return report;
}

std::map<std::string, std::int64_t> CorpusReport::skipped_by_reason() const {
  std::map<std::string, std::int64_t> counts;
  for (const auto& clip : skipped) ++counts[std::string(name_of(clip.reason))];
  return counts;
}

}  // namespace myxtts
