// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diagnose/profile/made_reading.h"
#include "diagnose/profile/profile.h"

namespace myxtts::html_test {
namespace {

using Json = nlohmann::ordered_json;

Profile some_profile() {
  return test::made_profile({.decoding = 0.8, .encoding = 0.2});
}

TEST(ProfileHtml, EveryNumberOfThePageIsTheOneOfTheJson) {
  const Profile profile = some_profile();
  const std::string html = to_html(profile);
  const Json json = Json::parse(to_json(profile));
  const std::regex number("data-key=\"([^\"]+)\" data-value=\"([^\"]+)\">([^<]*)<");
  std::set<std::string> keys;
  for (std::sregex_iterator at(html.begin(), html.end(), number), end; at != end; ++at) {
    const Json& value = json.at(Json::json_pointer((*at)[1].str()));
    EXPECT_EQ(value.dump(), (*at)[2].str()) << (*at)[1];
    keys.insert((*at)[1].str());
    if (value.is_null() || (*at)[3].str() == "–") continue;
    const double shown = std::stod((*at)[3].str());
    const double exact = value.get<double>();
    const bool matches = std::abs(shown - exact) <= 0.51 || std::abs(shown - 100 * exact) <= 0.51 ||
                         std::abs(shown - 1e-6 * exact) <= 0.51;
    EXPECT_TRUE(matches) << (*at)[1] << ": " << shown << " for " << exact;
  }
  for (const char* key : {"/clips_per_second", "/step/mean_ms", "/step/p99_ms", "/readiness",
                          "/findings/0/predicted_gain", "/findings/1/predicted_step_ms",
                          "/thresholds/0/measured", "/model/peak_bytes"}) {
    EXPECT_TRUE(keys.contains(key)) << key;
  }
}

TEST(ProfileHtml, ThePageNeedsNothingButItself) {
  const std::string html = to_html(some_profile());
  for (const char* outside : {"http:", "https:", "<script", "<link", "@import", "url("}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
}

TEST(ProfileHtml, ANameFromOutsideStaysText) {
  Profile profile = some_profile();
  profile.setup.model_size = "<b>&\"model";
  EXPECT_NE(to_html(profile).find("&lt;b&gt;&amp;&quot;model"), std::string::npos);
}

TEST(ProfileHtml, EveryStepIsABarOfTheTimeline) {
  const Profile profile = some_profile();
  const std::string html = to_html(profile);
  std::size_t bars = 0;
  for (auto at = html.find("<title>step "); at != std::string::npos;
       at = html.find("<title>step ", at + 1)) {
    ++bars;
  }
  EXPECT_EQ(bars, profile.reading.step_seconds.size());
}

TEST(ProfileJson, TheSecondGainIsOnTopOfTheFirst) {
  const Profile profile = some_profile();
  const Json json = Json::parse(to_json(profile));
  const Json& findings = json.at("findings");
  ASSERT_GE(findings.size(), 2);
  const double first = findings[0].at("predicted_clips_per_second").get<double>();
  const double second = findings[1].at("predicted_clips_per_second").get<double>();
  EXPECT_NEAR(findings[1].at("predicted_gain").get<double>(), second / first - 1, 1e-9);
  EXPECT_EQ(json.at("verdict"), findings[0].at("cause"));
}

}  // namespace
}  // namespace myxtts::html_test
