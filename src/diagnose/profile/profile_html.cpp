// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/message_text.h"
#include "diagnose/profile/profile.h"
#include "diagnose/report/markup.h"

namespace myxtts {
namespace {

constexpr std::string_view kProfileStyle = R"(
:root { --wait-in: #c9853b; --wait-out: #b9c1cf; --bad: #b3362b; --fine: #2c7a4b; }
@media (prefers-color-scheme: dark) { :root { --wait-in: #e0a765; --wait-out: #4a5567;
  --bad: #f08a7e; --fine: #7fd0a0; } }
.verdict { border-left: .3rem solid var(--bar); background: var(--card); padding: .75rem 1rem;
  margin: 1rem 0; } .verdict code { font-size: 1.05rem; } .verdict p { margin: .3rem 0; }
.in { background: var(--wait-in); } .out { background: var(--wait-out); }
.busy { background: var(--bar); }
.stage { display: grid; grid-template-columns: 5.5rem 1fr; gap: .5rem; margin: .35rem 0;
  align-items: center; } .stage div { display: flex; height: 1.2rem; min-width: 0; }
th, td { overflow-wrap: normal; }
.line { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 3; }
.key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 .8rem; }
.crossed { color: var(--bad); } .fine { color: var(--fine); }
)";

// A number of the JSON object: its place there and its exact value stand in the page as well.
std::string number(const Json& json, const std::string& pointer, double factor, int digits) {
  const Json& value = json.at(Json::json_pointer(pointer));
  const std::string shown =
      value.is_null() ? "–" : fmt::format("{:.{}f}", factor * value.get<double>(), digits);
  return fmt::format("<data data-key=\"{}\" data-value=\"{}\">{}</data>", pointer, value.dump(),
                     shown);
}

std::string figures(const Json& json) {
  const auto figure = [&json](const char* pointer, double factor, int digits, const char* unit,
                              const char* name) {
    return html_figure(number(json, pointer, factor, digits) + " " + unit, name);
  };
  return "<div class=\"figures\">\n" + figure("/clips_per_second", 1, 2, "", "clips a second") +
         figure("/audio_hours_per_hour", 1, 1, "", "hours of speech an hour") +
         figure("/step/mean_ms", 1, 1, "ms", "a step, on average") +
         figure("/step/p50_ms", 1, 1, "ms", "half of the steps below") +
         figure("/step/p99_ms", 1, 1, "ms", "99 % of the steps below") +
         figure("/step/ceiling_ms", 1, 1, "ms", "the same step without a pipeline") +
         figure("/step/variation_at_equal_work", 100, 1, "%", "variation at equal work") +
         figure("/readiness", 100, 1, "%", "of the batches ready in time") +
         figure("/padding_share", 100, 1, "%", "padding") + "</div>\n";
}

std::string finding_html(const Json& json, std::size_t index) {
  const std::string at = fmt::format("/findings/{}", index);
  const Json& finding = json.at("findings").at(index);
  std::string html =
      fmt::format("<div class=\"verdict\"><p><b>{}: {}</b>", index == 0 ? "Verdict" : "Then",
                  escaped(finding.at("cause").get<std::string>()));
  if (finding.at("cost_share").get<double>() > 0) {
    html += fmt::format(", {} % of the time", number(json, at + "/cost_share", 100, 0));
  }
  html +=
      fmt::format("</p><p>Measured: {}.</p>\n", escaped(finding.at("reason").get<std::string>()));
  if (!finding.at("flag").is_null()) {
    html +=
        fmt::format("<p>Type <code>{}</code>: predicted {} clips/s ({} %), a step of {} ms.</p>\n",
                    escaped(finding.at("flag").get<std::string>()),
                    number(json, at + "/predicted_clips_per_second", 1, 2),
                    number(json, at + "/predicted_gain", 100, 0),
                    number(json, at + "/predicted_step_ms", 1, 1));
  }
  const auto remark = finding.at("remark").get<std::string>();
  if (!remark.empty()) html += fmt::format("<p>Note: {}.</p>\n", escaped(remark));
  return html + "</div>\n";
}

std::string findings_html(const Json& json) {
  std::string html;
  for (std::size_t i = 0; i < json.at("findings").size(); ++i) html += finding_html(json, i);
  return html;
}

// Every step as a bar, in order, and the ceiling as a line across them.
std::string timeline(const Json& json) {
  constexpr double kWidth = 800;
  constexpr double kHeight = 150;
  const auto steps = json.at("step_ms").get<std::vector<double>>();
  const Json& ceiling = json.at("step").at("ceiling_ms");
  double highest = ceiling.is_null() ? 0.0 : ceiling.get<double>();
  for (const double step : steps) highest = std::max(highest, step);
  const double width = kWidth / static_cast<double>(std::max<std::size_t>(1, steps.size()));
  std::string svg = fmt::format(
      "<figure><figcaption>{} steps in order, the highest of {} ms; the line is the "
      "same step without a pipeline</figcaption>\n<svg viewBox=\"0 0 800 150\" "
      "role=\"img\" aria-label=\"Steps in order\">\n",
      steps.size(), number(json, "/step/highest_ms", 1, 1));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double height = highest > 0 ? kHeight * steps[i] / highest : 0.0;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"><title>step {}: {:.2f} "
        "ms</title></rect>\n",
        static_cast<double>(i) * width, kHeight - height, std::max(0.5, 0.85 * width), height,
        i + 1, steps[i]);
  }
  if (!ceiling.is_null() && highest > 0) {
    const double y = kHeight * (1 - ceiling.get<double>() / highest);
    svg += fmt::format("<line class=\"line\" x1=\"0\" x2=\"800\" y1=\"{0:.2f}\" y2=\"{0:.2f}\"/>\n",
                       y);
  }
  return svg + "</svg></figure>\n";
}

// Where the threads of each stage spent their time.
std::string stages(const Json& json) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kParts = {
      {{"busy", "busy_seconds"},
       {"in", "waiting_for_input_seconds"},
       {"out", "waiting_for_output_seconds"}}};
  std::string html =
      "<figure><figcaption class=\"key\"><span class=\"busy\"></span>busy <span "
      "class=\"in\"></span>waits for input <span class=\"out\"></span>waits for "
      "output</figcaption>\n";
  for (const Json& stage : json.at("stages")) {
    html +=
        fmt::format("<div class=\"stage\">{}<div>", escaped(stage.at("name").get<std::string>()));
    double all = 0;
    for (const auto& part : kParts) all += stage.at(part.second).get<double>();
    for (const auto& part : kParts) {
      const double share = all > 0 ? 100 * stage.at(part.second).get<double>() / all : 0.0;
      html += fmt::format("<i class=\"{0}\" style=\"width:{1:.2f}%\" title=\"{1:.1f} %\"></i>",
                          part.first, share);
    }
    html += "</div></div>\n";
  }
  return html + "</figure>\n";
}

std::string thresholds_table(const Json& json) {
  Rows rows;
  for (std::size_t i = 0; i < json.at("thresholds").size(); ++i) {
    const Json& one = json.at("thresholds").at(i);
    if (one.at("measured").is_null()) continue;
    const std::string at = fmt::format("/thresholds/{}", i);
    const char* state = one.at("crossed").get<bool>() ? "crossed" : "fine";
    rows.push_back({html_cell(one.at("name").get<std::string>()),
                    number_cell(number(json, at + "/measured", 100, 1) + " %"),
                    number_cell(fmt::format("{} {} %", one.at("should_be").get<std::string>(),
                                            number(json, at + "/limit", 100, 0))),
                    html_cell(state, fmt::format("class=\"{}\"", state))});
  }
  return html_table("Thresholds", {},
                    {html_cell("measure"), number_cell("measured"), number_cell("should be"),
                     html_cell("")},
                    rows) +
         fmt::format("<p>Grade: <b>{}</b></p>\n", json.at("grade").at("grade").get<std::string>());
}

std::string devices_table(const Json& json) {
  Rows rows;
  for (const std::string role : {"data", "model"}) {
    rows.push_back({html_cell(role),
                    html_cell(escaped(json.at(role).at("device").get<std::string>())),
                    number_cell(number(json, "/" + role + "/gpu_use", 100, 0)),
                    number_cell(number(json, "/" + role + "/watts", 1, 0)),
                    number_cell(number(json, "/" + role + "/peak_bytes", 1e-6, 0))});
  }
  return html_table("Devices", {},
                    {html_cell("role"), html_cell("device"), number_cell("in use, %"),
                     number_cell("W"), number_cell("memory at most, MB")},
                    rows);
}

}  // namespace

std::string to_html(const Profile& profile) {
  const Json json = Json::parse(to_json(profile));
  const std::string title = fmt::format(
      "{} in {} mode, {} in a step", profile.setup.model_size, name_of(profile.setup.plan.mode),
      counted(profile.setup.plan.batch_size * profile.setup.plan.grad_accum, "clip"));
  return html_page("Profile: " + title,
                   "<h1>" + escaped(title) + "</h1>\n" + findings_html(json) + figures(json) +
                       "<h2>Timeline</h2>\n" + timeline(json) + "<h2>Stages</h2>\n" + stages(json) +
                       thresholds_table(json) + devices_table(json),
                   kProfileStyle);
}

}  // namespace myxtts
