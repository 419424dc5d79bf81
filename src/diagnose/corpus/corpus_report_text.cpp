// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/human.h"
#include "diagnose/corpus/corpus_report.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNamed = 10;  // suspicious clips and speakers that are named one by one
constexpr std::size_t kBarWidth = 40;   // columns of the longest bar

std::string groups_line(const std::map<std::string, ClipGroup>& groups) {
  std::vector<std::pair<std::string, ClipGroup>> sorted(groups.begin(), groups.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.clips > b.second.clips; });
  std::string line;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostNamed); ++i) {
    line += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                        sorted[i].first.empty() ? "(no name)" : sorted[i].first,
                        human_count(sorted[i].second.clips));
  }
  if (sorted.size() > kMostNamed) line += fmt::format(", and {} more", sorted.size() - kMostNamed);
  return line;
}

std::string rates_line(const std::map<std::int64_t, ClipGroup>& rates) {
  std::string line;
  for (const auto& [rate, group] : rates) {
    line += fmt::format("{}{} Hz {}", line.empty() ? "" : ", ", human_count(rate),
                        human_count(group.clips));
  }
  return line;
}

std::string bars(const Histogram& histogram) {
  std::string lines;
  for (std::size_t step = 0; step < histogram.counts.size(); ++step) {
    const auto count = histogram.counts[step];
    const auto width = static_cast<std::size_t>(count) * kBarWidth /
                       static_cast<std::size_t>(std::max<std::int64_t>(1, histogram.highest()));
    lines +=
        fmt::format("  {:>6.1f} to {:>6.1f}  {:>9}  {}\n", histogram.end_of(step) - histogram.width,
                    histogram.end_of(step), human_count(count), std::string(width, '#'));
  }
  return lines;
}

std::string suspicious_lines(const std::vector<SuspiciousClip>& clips) {
  std::string lines;
  for (std::size_t i = 0; i < std::min(clips.size(), kMostNamed); ++i) {
    lines += fmt::format("  {}: {:.1f} characters a second, usual are {:.1f}\n", clips[i].audio,
                         clips[i].chars_per_second, clips[i].usual);
  }
  if (clips.size() > kMostNamed) {
    lines += fmt::format("  and {} more (--json lists all)\n", clips.size() - kMostNamed);
  }
  return lines;
}

Json json_of(const Histogram& histogram) {
  return {{"first", histogram.first}, {"width", histogram.width}, {"counts", histogram.counts}};
}

Json json_of(const ClipGroup& group) {
  return {{"clips", group.clips}, {"hours", group.hours}};
}

Json json_of(const SuspiciousClip& clip) {
  return {{"id", clip.id},       {"file", clip.audio},
          {"text", clip.text},   {"chars_per_second", clip.chars_per_second},
          {"usual", clip.usual}, {"deviations", clip.distance}};
}

template <typename Groups, typename Name>
Json json_of_groups(const Groups& groups, Name name) {
  Json object = Json::object();
  for (const auto& [key, group] : groups) object[name(key)] = json_of(group);
  return object;
}

}  // namespace

std::string describe(const CorpusReport& report) {
  std::string text = fmt::format("{}: {} clips, {:.2f} hours\n", report.title,
                                 human_count(report.all.clips), report.all.hours);
  text += fmt::format("languages     {}\n", groups_line(report.languages));
  text += fmt::format("speakers      {} ({})\n",
                      human_count(static_cast<std::int64_t>(report.speakers.size())),
                      groups_line(report.speakers));
  text += fmt::format("sample rates  {}\n", rates_line(report.sample_rates));
  text += "length in seconds\n" + bars(report.seconds);

  text += fmt::format("left out      {}\n", report.skipped.size());
  for (const auto& [reason, count] : report.skipped_by_reason()) {
    text += fmt::format("  {}  {}\n", human_count(count), reason);
  }
  text += fmt::format("suspicious    {} (text that is likely another clip's)\n",
                      report.suspicious.size());
  text += suspicious_lines(report.suspicious);

  const auto& epoch = report.epoch;
  text += fmt::format("an epoch      {} steps of {} clips; {:.1f} % of all tokens useful\n",
                      human_count(epoch.steps), epoch.batch_size, 100.0 * epoch.useful_share);
  text += fmt::format("token counts  {}\n", fmt::join(epoch.token_counts, ", "));
  text += fmt::format("a cache       {}", human_size(report.cache.needed_bytes));
  if (!report.cache.folder.empty()) {
    text += fmt::format(" in {}, where {} are free", report.cache.folder,
                        human_size(report.cache.free_bytes));
  }
  return text + "\n";
}

std::string to_json(const CorpusReport& report) {
  const auto same = [](const auto& name) { return name; };
  Json suspicious = Json::array();
  for (const auto& clip : report.suspicious) suspicious.push_back(json_of(clip));
  const Json object = {
      {"corpus", report.title},
      {"clips", report.all.clips},
      {"hours", report.all.hours},
      {"languages", json_of_groups(report.languages, same)},
      {"speakers", json_of_groups(report.speakers, same)},
      {"sample_rates",
       json_of_groups(report.sample_rates, [](std::int64_t rate) { return std::to_string(rate); })},
      {"seconds", json_of(report.seconds)},
      {"loudness_db", json_of(report.loudness)},
      {"chars_per_second", json_of(report.pace)},
      {"skipped", report.skipped.size()},
      {"skipped_by_reason", report.skipped_by_reason()},
      {"suspicious", std::move(suspicious)},
      {"batch_size", report.epoch.batch_size},
      {"steps_per_epoch", report.epoch.steps},
      {"token_counts", report.epoch.token_counts},
      {"useful_share", report.epoch.useful_share},
      {"cache_bytes", report.cache.needed_bytes},
      {"free_bytes", report.cache.free_bytes}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace myxtts
