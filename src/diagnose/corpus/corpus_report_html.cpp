// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/corpus_report_html.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/human.h"
#include "diagnose/html_page.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostRows = 200;  // of a table

std::string figure(const std::string& value, std::string_view name) {
  return fmt::format("<div><b>{}</b><span>{}</span></div>\n", escaped(value), name);
}

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
  std::string table = fmt::format(
      "<h2>{}</h2>\n<div class=\"wide\"><table><tr><th>name<th class=\"number\">clips<th "
      "class=\"number\">hours</tr>\n",
      heading);
  std::size_t rows = 0;
  for (const auto& [name, group] : groups) {
    if (++rows > kMostRows) break;
    table += fmt::format("<tr><td>{}<td class=\"number\">{}<td class=\"number\">{:.2f}</tr>\n",
                         name.empty() ? "(no name)" : escaped(name), human_count(group.clips),
                         group.hours);
  }
  return table + "</table></div>\n";
}

std::string suspicious_table(const CorpusReport& report) {
  if (report.suspicious.empty()) return {};
  std::string table =
      "<h2>Suspicious clips</h2>\n<p>Their text is likely another clip's: far from the usual "
      "number of characters a second.</p>\n<div class=\"wide\"><table><tr><th>file<th "
      "class=\"number\">characters/s<th class=\"number\">usual<th>text</tr>\n";
  for (std::size_t i = 0; i < std::min(report.suspicious.size(), kMostRows); ++i) {
    const auto& clip = report.suspicious[i];
    table += fmt::format(
        "<tr><td>{}<td class=\"number\">{:.1f}<td class=\"number\">{:.1f}<td "
        "dir=\"auto\">{}</tr>\n",
        escaped(clip.audio), clip.chars_per_second, clip.usual, escaped(clip.text));
  }
  return table + "</table></div>\n";
}

std::string skipped_table(const CorpusReport& report) {
  if (report.skipped.empty()) return {};
  std::string table =
      "<h2>Clips left out</h2>\n<div class=\"wide\"><table><tr><th>reason<th "
      "class=\"number\">clips</tr>\n";
  for (const auto& [reason, count] : report.skipped_by_reason()) {
    table += fmt::format("<tr><td>{}<td class=\"number\">{}</tr>\n", escaped(reason),
                         human_count(count));
  }
  return table + "</table></div>\n";
}

std::string figures(const CorpusReport& report) {
  return "<div class=\"figures\">\n" + figure(human_count(report.all.clips), "clips") +
         figure(fmt::format("{:.2f}", report.all.hours), "hours") +
         figure(human_count(static_cast<std::int64_t>(report.speakers.size())), "speakers") +
         figure(human_count(static_cast<std::int64_t>(report.skipped.size())), "left out") +
         figure(human_count(static_cast<std::int64_t>(report.suspicious.size())), "suspicious") +
         figure(human_count(report.epoch.steps),
                fmt::format("steps an epoch, {} clips each", report.epoch.batch_size)) +
         figure(fmt::format("{:.1f} %", 100.0 * report.epoch.useful_share), "useful tokens") +
         figure(human_size(report.cache.needed_bytes), "feature cache") + "</div>\n";
}

}  // namespace

std::string to_html(const CorpusReport& report) {
  std::map<std::string, ClipGroup> rates;
  for (const auto& [rate, group] : report.sample_rates) {
    rates.emplace(fmt::format("{} Hz", rate), group);
  }
  return page_head(report.title) + "<h1>" + escaped(report.title) + "</h1>\n" + figures(report) +
         "<div class=\"pictures\">\n" + picture(report.seconds, "Length, seconds") +
         picture(report.loudness, "Loudness, dB below full scale (RMS)") +
         picture(report.pace, "Characters a second") + "</div>\n" + suspicious_table(report) +
         skipped_table(report) + group_table("Languages", report.languages) +
         group_table("Speakers", report.speakers) + group_table("Sample rates", rates) +
         "</body></html>\n";
}

}  // namespace myxtts
