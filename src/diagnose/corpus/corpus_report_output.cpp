// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/message_text.h"
#include "config/value_text.h"
#include "diagnose/corpus/corpus_report.h"
#include "diagnose/report/markup.h"
#include "diagnose/report/report.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostNamed = 10;  // suspicious clips and speakers that are named one by one
constexpr std::size_t kBarWidth = 40;   // columns of the longest bar

std::string groups_line(const std::map<std::string, ClipGroup>& groups) {
  std::vector<std::pair<std::string, ClipGroup>> sorted(groups.begin(), groups.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.clips > b.second.clips; });
  std::string line;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostNamed); ++i) {
    line += fmt::format("{}{} {}", i == 0 ? "" : ", ",
                        sorted[i].first.empty() ? "unnamed" : sorted[i].first,
                        human_count(sorted[i].second.clips));
  }
  if (sorted.size() > kMostNamed) line += fmt::format(", and {} more", sorted.size() - kMostNamed);
  return line;
}

// "23.92 hours"; less than one in minutes and seconds.
std::string length_of(const ClipGroup& group) {
  if (group.hours >= 1) return fmt::format("{:.2f} hours", group.hours);
  const std::chrono::duration<double, std::ratio<3600>> hours(group.hours);
  return human_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(hours));
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
  Rows rows;
  for (std::size_t step = 0; step < histogram.counts.size(); ++step) {
    const auto count = histogram.counts[step];
    const auto width = static_cast<std::size_t>(count) * kBarWidth /
                       static_cast<std::size_t>(std::max<std::int64_t>(1, histogram.highest()));
    rows.push_back({fmt::format("{:.1f}", histogram.end_of(step) - histogram.width), "to",
                    fmt::format("{:.1f}", histogram.end_of(step)), human_count(count),
                    std::string(width, '#')});
  }
  return table_text("  >6 <2 >6  >9  <", rows);
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

// Each reason with the first clip that has it.
std::string skipped_lines(const CorpusReport& report) {
  std::string lines;
  for (const auto& [reason, count] : report.skipped_by_reason()) {
    const auto first = std::ranges::find(report.skipped, reason, [](const Skipped& clip) {
      return std::string(name_of(clip.reason));
    });
    lines +=
        fmt::format("  {}  {}: {}{} ({})\n", human_count(count), reason, count == 1 ? "" : "first ",
                    one_line(first->file.string()), first->measured);
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

constexpr std::size_t kMostRows = 200;  // of a table

// Bars in a view box of 400 by 160; the page scales it.
std::string picture(const Histogram& histogram, std::string_view caption) {
  constexpr double kWidth = 400.0;
  constexpr double kHeight = 140.0;
  std::string svg = fmt::format(
      "<figure><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 400 160\" role=\"img\" "
      "aria-label=\"{0}\">\n",
      caption);
  const auto steps = static_cast<double>(std::max<std::size_t>(1, histogram.counts.size()));
  for (std::size_t step = 0; step < histogram.counts.size(); ++step) {
    const double share = static_cast<double>(histogram.counts[step]) /
                         static_cast<double>(std::max<std::int64_t>(1, histogram.highest()));
    const double begin = histogram.end_of(step) - histogram.width;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{:g} to {:g}: "
        "{}</title></rect>\n",
        static_cast<double>(step) * kWidth / steps, kHeight * (1.0 - share),
        std::max(1.0, kWidth / steps - 1.0), kHeight * share, begin, histogram.end_of(step),
        human_count(histogram.counts[step]));
  }
  if (!histogram.counts.empty()) {
    svg += fmt::format(
        "<text x=\"0\" y=\"156\">{:g}</text><text x=\"400\" y=\"156\" text-anchor=\"end\">{:g}"
        "</text>\n",
        histogram.first, histogram.end_of(histogram.counts.size() - 1));
  }
  return svg + "</svg></figure>\n";
}

std::string group_table(std::string_view heading, const std::map<std::string, ClipGroup>& groups) {
  Rows rows;
  for (const auto& [name, group] : groups) {
    if (rows.size() == kMostRows) break;
    rows.push_back({html_cell(name.empty() ? "unnamed" : escaped(name)),
                    number_cell(human_count(group.clips)),
                    number_cell(fmt::format("{:.2f}", group.hours))});
  }
  return html_table(heading, {}, {html_cell("name"), number_cell("clips"), number_cell("hours")},
                    rows);
}

// A player of a recording on this machine's disk: every byte of its path that could end the address
// or mean something in it is written as %XX.
std::string player(const std::filesystem::path& audio) {
  std::string address = "file://";
  for (const char c : std::filesystem::absolute(audio).string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("/-_.~").find(c) != std::string_view::npos;
    address += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return fmt::format("<audio controls preload=\"none\" src=\"{}\"></audio>", address);
}

std::string suspicious_table(const CorpusReport& report) {
  if (report.suspicious.empty()) return {};
  Rows rows;
  for (std::size_t i = 0; i < std::min(report.suspicious.size(), kMostRows); ++i) {
    const auto& clip = report.suspicious[i];
    rows.push_back({html_cell(escaped(clip.audio)),
                    number_cell(fmt::format("{:.1f}", clip.chars_per_second)),
                    number_cell(fmt::format("{:.1f}", clip.usual)),
                    html_cell(escaped(clip.text), "dir=\"auto\""), html_cell(player(clip.audio))});
  }
  return html_table("Suspicious clips",
                    "<p>Their text is likely another clip's: far from the usual number of "
                    "characters a second.</p>\n",
                    {html_cell("file"), number_cell("characters/s"), number_cell("usual"),
                     html_cell("text"), html_cell("listen")},
                    rows);
}

std::string skipped_table(const CorpusReport& report) {
  if (report.skipped.empty()) return {};
  Rows rows;
  for (const auto& [reason, count] : report.skipped_by_reason()) {
    rows.push_back({html_cell(escaped(reason)), number_cell(human_count(count))});
  }
  return html_table("Reasons", {}, {html_cell("reason"), number_cell("clips")}, rows);
}

// Whether a clip that was left out can be heard all the same.
bool is_sound(SkipReason reason) {
  return reason != SkipReason::BadLine && reason != SkipReason::MissingFile &&
         reason != SkipReason::Empty && reason != SkipReason::Unreadable;
}

std::string skipped_clips_table(const CorpusReport& report) {
  if (report.skipped.empty()) return {};
  Rows rows;
  for (const Skipped& clip : report.skipped) {
    if (rows.size() == kMostRows) break;
    const std::string place =
        clip.line > 0 ? fmt::format("{}:{}", clip.manifest.string(), clip.line) : "";
    rows.push_back({html_cell(escaped(clip.file.string())), html_cell(escaped(place)),
                    html_cell(escaped(name_of(clip.reason))), html_cell(escaped(clip.measured)),
                    html_cell(is_sound(clip.reason) ? player(clip.file) : "")});
  }
  const std::string more =
      report.skipped.size() > rows.size()
          ? fmt::format("<p>The first {}; skipped.jsonl has all.</p>\n", rows.size())
          : "";
  return html_table("Clips left out", more,
                    {html_cell("file"), html_cell("line"), html_cell("reason"),
                     html_cell("measured"), html_cell("listen")},
                    rows);
}

std::string figures(const CorpusReport& report) {
  const auto count = [](std::size_t number) {
    return human_count(static_cast<std::int64_t>(number));
  };
  const auto figure = [](std::int64_t number, const std::string& noun) {
    return html_figure(human_count(number), number == 1 ? noun : noun + "s");
  };
  return "<div class=\"figures\">\n" + figure(report.all.clips, "clip") +
         html_figure(length_of(report.all), "of speech") +
         figure(static_cast<std::int64_t>(report.speakers.size()), "speaker") +
         html_figure(count(report.skipped.size()), "left out") +
         html_figure(count(report.suspicious.size()), "suspicious") +
         html_figure(counted(report.steps_per_epoch, "step"),
                     fmt::format("an epoch, of {}", counted(report.batch_size, "clip"))) +
         html_figure(fmt::format("{:.1f} %", 100.0 * report.useful_share), "useful tokens") +
         html_figure(human_size(report.cache_bytes), "feature cache") + "</div>\n";
}

}  // namespace

std::string describe(const CorpusReport& report) {
  std::string text = fmt::format("{}: {}, {}\n", report.title, counted(report.all.clips, "clip"),
                                 length_of(report.all));
  text += fmt::format("languages     {}\n", groups_line(report.languages));
  text += fmt::format("speakers      {} ({})\n",
                      human_count(static_cast<std::int64_t>(report.speakers.size())),
                      groups_line(report.speakers));
  text += fmt::format("sample rates  {}\n", rates_line(report.sample_rates));
  text += "length in seconds\n" + bars(report.seconds);

  text += fmt::format("left out      {}\n", report.skipped.size());
  text += skipped_lines(report);
  text += fmt::format("suspicious    {} (text that is likely another clip's)\n",
                      report.suspicious.size());
  text += suspicious_lines(report.suspicious);

  text += fmt::format("an epoch      {} of {}; {:.1f} % of all tokens useful\n",
                      counted(report.steps_per_epoch, "step"), counted(report.batch_size, "clip"),
                      100.0 * report.useful_share);
  text += fmt::format("token counts  {}\n", fmt::join(report.token_counts, ", "));
  text += fmt::format("a cache       {}", human_size(report.cache_bytes));
  if (!report.cache_folder.empty()) {
    text += fmt::format(" in {}, where {} are free", report.cache_folder,
                        human_size(report.free_bytes));
  }
  return text + "\n";
}

std::string json_lines(const std::vector<SuspiciousClip>& clips) {
  std::string lines;
  for (const SuspiciousClip& clip : clips) {
    lines += json_of(clip).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return lines;
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
      {"batch_size", report.batch_size},
      {"steps_per_epoch", report.steps_per_epoch},
      {"token_counts", report.token_counts},
      {"useful_share", report.useful_share},
      {"cache_bytes", report.cache_bytes},
      {"free_bytes", report.free_bytes}};
  return json_text(object, -1);
}

std::string to_html(const CorpusReport& report) {
  std::map<std::string, ClipGroup> rates;
  for (const auto& [rate, group] : report.sample_rates) {
    rates.emplace(fmt::format("{} Hz", rate), group);
  }
  return html_page(report.title,
                   "<h1>" + escaped(report.title) + "</h1>\n" + figures(report) +
                       "<div class=\"pictures\">\n" + picture(report.seconds, "Length, seconds") +
                       picture(report.loudness, "Loudness, dB below full scale (RMS)") +
                       picture(report.pace, "Characters a second") + "</div>\n" +
                       suspicious_table(report) + skipped_clips_table(report) +
                       skipped_table(report) + group_table("Languages", report.languages) +
                       group_table("Speakers", report.speakers) +
                       group_table("Sample rates", rates));
}

}  // namespace myxtts
