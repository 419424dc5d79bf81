// SPDX-License-Identifier: Apache-2.0
#include "diagnose/corpus/corpus_report.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace myxtts::test::corpus_report_test {
namespace {

// Readers between 13 and 17 characters a second.
std::vector<ClipFacts> plain_clips(std::size_t count) {
  std::vector<ClipFacts> clips;
  for (std::size_t i = 0; i < count; ++i) {
    clips.push_back({.id = "plain",
                     .audio = "plain.wav",
                     .text = "some words",
                     .speaker = i % 3 == 0 ? "anna" : "ben",
                     .language = "en",
                     .sample_rate = 22'050,
                     .seconds = 2.0 + 0.01 * static_cast<double>(i),
                     .chars_per_second = 13.0 + 4.0 * static_cast<double>(i % 17) / 16.0,
                     .loudness_db = -23.0});
  }
  return clips;
}

TEST(Histogram, HasRoundBordersAndCountsEveryValueOnce) {
  const std::vector<double> values{0.31, 0.32, 3.0,
                                   9.99, 10.0, std::numeric_limits<double>::quiet_NaN()};
  const auto histogram = make_histogram(values, 12);
  EXPECT_DOUBLE_EQ(histogram.width, 1.0);
  EXPECT_DOUBLE_EQ(histogram.first, 0.0);
  EXPECT_EQ(histogram.counts, (std::vector<std::int64_t>{2, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(histogram.highest(), 2);
}

TEST(Histogram, NeverHasMoreStepsThanAsked) {
  for (double shift = 0.0; shift < 3.0; shift += 0.037) {
    const std::vector<double> values{shift, shift + 0.9, shift + 2.4 + shift * 0.77};
    const auto histogram = make_histogram(values, 24);
    EXPECT_LE(histogram.counts.size(), 24U);
    EXPECT_GE(histogram.counts.size(), 8U);
    EXPECT_LE(histogram.first, shift);
    EXPECT_GT(histogram.end_of(histogram.counts.size() - 1), values.back() - 1e-9);
  }
}

TEST(Histogram, OfNothingAndOfOneValueIsFine) {
  EXPECT_TRUE(make_histogram({}).counts.empty());
  const std::vector<double> same(5, -23.0);
  EXPECT_EQ(make_histogram(same).highest(), 5);
}

TEST(Histogram, StepsAreAsWideAsTheirBordersAreWritten) {
  const std::vector<double> nearly_equal{1.21, 1.22, 1.23, 1.27};
  EXPECT_EQ(make_histogram(nearly_equal).counts, std::vector<std::int64_t>{4});
}

TEST(CorpusReport, ALengthBelowAnHourIsInMinutesAndSeconds) {
  CorpusReport report;
  report.title = "mine";
  report.all = {.clips = 24, .hours = 31.6 / 3600};
  EXPECT_TRUE(describe(report).starts_with("mine: 24 clips, 32 s\n")) << describe(report);
  report.all.hours = 1.3 / 3600;
  EXPECT_TRUE(describe(report).starts_with("mine: 24 clips, 1.3 s\n")) << describe(report);
  report.all.hours = 23.917;
  EXPECT_TRUE(describe(report).starts_with("mine: 24 clips, 23.92 hours\n")) << describe(report);
}

TEST(CorpusReport, FindsTextsOfOtherClipsAndNothingElse) {
  auto clips = plain_clips(100);
  clips.push_back({.id = "fast", .audio = "fast.wav", .language = "en", .chars_per_second = 29.0});
  clips.push_back({.id = "slow", .audio = "slow.wav", .language = "en", .chars_per_second = 3.0});
  const auto found = find_suspicious(clips);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, "slow");
  EXPECT_LT(found[0].distance, -4.0);
  EXPECT_EQ(found[1].id, "fast");
  EXPECT_NEAR(found[1].usual, 15.0, 0.5);
}

TEST(CorpusReport, ManyWrongTextsDoNotHideOneAnother) {
  auto clips = plain_clips(100);
  for (int i = 0; i < 30; ++i) {
    clips.push_back({.id = "wrong", .language = "en", .chars_per_second = 60.0});
  }
  EXPECT_EQ(find_suspicious(clips).size(), 30U);
}

TEST(CorpusReport, JudgesEachLanguageByItselfAndNoneByAHandfulOfClips) {
  auto clips = plain_clips(100);
  for (int i = 0; i < 40; ++i) {  // Chinese: a third of the characters
    clips.push_back({.id = "zh", .language = "zh-cn", .chars_per_second = 4.5 + 0.01 * i});
  }
  clips.push_back({.id = "ja", .language = "ja", .chars_per_second = 90.0});
  EXPECT_TRUE(find_suspicious(clips).empty());
}

TEST(CorpusReport, AddsUpHoursSpeakersAndRates) {
  auto clips = plain_clips(30);
  clips.push_back({.id = "x", .language = "de", .sample_rate = 48'000, .seconds = 3600.0});
  const auto report = make_corpus_report("mine", clips);
  EXPECT_EQ(report.all.clips, 31);
  EXPECT_NEAR(report.all.hours, 1.0 + 30 * 2.145 / 3600.0, 1e-9);
  EXPECT_EQ(report.speakers.at("anna").clips, 10);
  EXPECT_EQ(report.sample_rates.at(48'000).clips, 1);
  EXPECT_NEAR(report.languages.at("de").hours, 1.0, 1e-12);
}

CorpusReport hostile_report() {
  CorpusReport report = make_corpus_report("<b>\"'&", plain_clips(30));
  report.languages["</table><script>alert(1)</script>"] = {.clips = 1, .hours = 0.1};
  report.suspicious.push_back({.id = "i",
                               .audio = "\xff<img src=x onerror=alert(1)>.wav",
                               .text = "<script>alert('x')</script>\x01 & \"quotes\" سلام"});
  report.skipped.push_back({.file = "a.wav", .reason = SkipReason::Silent});
  report.skipped.push_back({.file = "b.wav", .reason = SkipReason::Silent});
  return report;
}

TEST(CorpusReport, APageShowsHostileTextsAsTexts) {
  const auto page = to_html(hostile_report());
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), std::string::npos);
  EXPECT_NE(page.find("سلام"), std::string::npos);
  EXPECT_NE(page.find("<title>&lt;b&gt;&quot;&#39;&amp;</title>"), std::string::npos);
}

TEST(CorpusReport, APageNeedsNothingFromElsewhere) {
  const auto page = to_html(hostile_report());
  for (const auto* outside : {"http://", "https://", "<link", "src=", "@import", "url("}) {
    // What stands in texts is escaped and loads nothing.
    if (std::string(outside) == "src=") continue;
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  std::size_t pictures = 0;
  for (auto at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) {
    ++pictures;
  }
  EXPECT_EQ(pictures, 3U);
  EXPECT_NE(page.find("width=device-width"), std::string::npos);
}

TEST(CorpusReport, JsonHoldsTheSameFigures) {
  const auto json = nlohmann::json::parse(to_json(hostile_report()));
  EXPECT_EQ(json.at("clips"), 30);
  EXPECT_EQ(json.at("skipped"), 2);
  EXPECT_EQ(json.at("skipped_by_reason").at("silent"), 2);
  EXPECT_EQ(json.at("suspicious").size(), 1U);
  EXPECT_EQ(json.at("sample_rates").at("22050").at("clips"), 30);
}

TEST(CorpusReport, LinesForPeopleNameWhatMatters) {
  auto report = hostile_report();
  report.batch_size = 8;
  report.steps_per_epoch = 4;
  report.token_counts = {1024, 2048};
  report.useful_share = 0.971;
  const auto text = describe(report);
  for (const auto* part : {"30 clips", "silent", "97.1 %", "1024, 2048", "4 steps of 8 clips"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << '\n' << text;
  }
}

}  // namespace
}  // namespace myxtts::test::corpus_report_test
