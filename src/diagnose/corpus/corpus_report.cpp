// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/corpus_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

namespace myxtts {
namespace {

double round_width(double range, std::size_t most_steps) {
  const double least = std::max(range, 1e-9) / static_cast<double>(most_steps);
  double power = std::pow(10.0, std::floor(std::log10(least)));
  for (;; power *= 10.0) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= least) return factor * power;
    }
  }
}

std::size_t steps_of(double first, double width, double greatest) {
  return static_cast<std::size_t>(std::floor((greatest - first) / width)) + 1;
}

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

// Median and deviation of log characters a second.
std::pair<double, double> usual_pace(const std::vector<double>& log_paces) {
  const double middle = median(log_paces);
  std::vector<double> distances;
  for (const double pace : log_paces) distances.push_back(std::abs(pace - middle));
  return {middle, std::max(kLeastDeviation, kMedianToDeviation * median(distances))};
}

std::vector<double> values_of(std::span<const ClipFacts> clips, double ClipFacts::*member) {
  std::vector<double> values;
  values.reserve(clips.size());
  for (const auto& clip : clips) values.push_back(clip.*member);
  return values;
}

}  // namespace

std::int64_t Histogram::highest() const {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

Histogram make_histogram(std::span<const double> values, std::size_t most_steps,
                         double least_width) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double value) { return std::isfinite(value); });
  if (finite.empty()) return {};
  const auto [least, greatest] = std::minmax_element(finite.begin(), finite.end());

  Histogram histogram{.width = std::max(least_width, round_width(*greatest - *least, most_steps)),
                      .counts = {}};
  histogram.first = std::floor(*least / histogram.width) * histogram.width;
  // Round borders may cost one step more than the range alone.
  for (double grown = 1.01; steps_of(histogram.first, histogram.width, *greatest) > most_steps;) {
    histogram.width =
        round_width(histogram.width * grown * static_cast<double>(most_steps), most_steps);
    histogram.first = std::floor(*least / histogram.width) * histogram.width;
  }
  histogram.counts.resize(steps_of(histogram.first, histogram.width, *greatest));
  for (const double value : finite) {
    const auto step = static_cast<std::size_t>((value - histogram.first) / histogram.width);
    ++histogram.counts[std::min(step, histogram.counts.size() - 1)];
  }
  return histogram;
}

std::vector<SuspiciousClip> find_suspicious(std::span<const ClipFacts> clips) {
  std::map<std::string_view, std::vector<double>> by_language;
  for (const auto& clip : clips) {
    if (clip.chars_per_second > 0.0) {
      by_language[clip.language].push_back(std::log(clip.chars_per_second));
    }
  }
  std::map<std::string_view, std::pair<double, double>> usual;
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
