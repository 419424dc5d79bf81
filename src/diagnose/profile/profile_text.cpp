// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/message_text.h"
#include "diagnose/profile/profile.h"
#include "diagnose/report/markup.h"
#include "diagnose/report/report.h"

namespace myxtts {
namespace {

std::string speed(const Profile& profile) {
  const StepStatistics& steps = profile.steps;
  std::string text = fmt::format(
      "speed     {:.4g} clips/s, {:.3g} hours of speech an hour\n"
      "step      {} on average, half below {}, 99 % below {}; variation {:.1f} % "
      "({:.1f} % at equal work)\n",
      profile.clips_per_second, profile.audio_hours_per_hour, human_milliseconds(steps.mean),
      human_milliseconds(steps.p50), human_milliseconds(steps.p99), 100 * steps.variation,
      100 * profile.variation);
  if (profile.ceiling_seconds) {
    text += fmt::format("ceiling   {}: the same step on batches that stay on the device\n",
                        human_milliseconds(*profile.ceiling_seconds));
  }
  return text + fmt::format("padding   {:.1f} % of the tokens\n", 100 * profile.padding_share);
}

std::string role(const std::string& name, const RolePlan& plan, const RoleSeen& seen) {
  std::string text = fmt::format("{:<9} {}", name, plan.gpu ? plan.gpu->name : "CPU");
  if (seen.peak_bytes > 0) {
    text += fmt::format("  {} at most", human_size(seen.peak_bytes));
  }
  if (seen.gpu) {
    text += fmt::format("  in use {:.0f} %", 100 * seen.gpu->busy_share);
    if (seen.gpu->watts > 0) {
      text += fmt::format("  {:.0f} of {:.0f} W", seen.gpu->watts, seen.gpu->watts_limit);
    }
  }
  return text + "\n";
}

std::string thresholds(const Profile& profile) {
  Rows rows;
  for (const Threshold& threshold : thresholds_of(profile)) {
    if (!threshold.measured) continue;
    rows.push_back(
        {threshold.name, fmt::format("{:.1f} %", 100 * *threshold.measured),
         fmt::format("{} {:.0f} %", threshold.is_least ? "above" : "below", 100 * threshold.limit),
         threshold.is_crossed() ? "crossed" : "fine", threshold.meaning});
  }
  std::string text = table_text("<13 >7  <  <7  <", rows);
  const auto marks = marks_of(profile);
  text += fmt::format("grade         {} (", name_of(grade_of(marks)));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    text += fmt::format("{}{} {:.1f} %: {}", i == 0 ? "" : ", ", marks[i].name,
                        100 * marks[i].measured, name_of(marks[i].grade));
  }
  return text + ")\n";
}

std::string finding_text(const Finding& finding, const char* rank, double clips_before) {
  std::string text = fmt::format("{}{}", rank, name_of(finding.cause));
  if (finding.cost_share > 0) {
    text += fmt::format(", {:.0f} % of the time", 100 * finding.cost_share);
  }
  text += fmt::format(": {}.\n", finding.reason);
  if (finding.knob) {
    text += fmt::format("  type      {}\n", finding.knob->flag);
    text +=
        fmt::format("  predicted {:.4g} clips/s ({:+.0f} %), a step of {}\n",
                    finding.predicted_clips_per_second, 100 * finding.predicted_gain(clips_before),
                    human_milliseconds(finding.predicted_step_seconds));
    if (!finding.remark.empty()) text += fmt::format("  note      {}\n", finding.remark);
  } else if (finding.cause != Cause::ModelBound) {
    text += "  no setting of this program changes that\n";
  }
  return text;
}

std::string findings(const Profile& profile) {
  std::string text;
  double before = profile.clips_per_second;
  for (std::size_t i = 0; i < profile.findings.size(); ++i) {
    text += finding_text(profile.findings[i], i == 0 ? "verdict   " : "then      ", before);
    before = profile.findings[i].predicted_clips_per_second;
  }
  return text;
}

constexpr int kSchemaVersion = 1;  // of the schema

Json milliseconds_of(const std::vector<double>& seconds) {
  Json list = Json::array();
  for (const double value : seconds) list.push_back(1000 * value);
  return list;
}

Json step_of(const Profile& profile) {
  const StepStatistics& steps = profile.steps;
  return {{"mean_ms", 1000 * steps.mean},
          {"p50_ms", 1000 * steps.p50},
          {"p99_ms", 1000 * steps.p99},
          {"highest_ms", 1000 * steps.highest},
          {"variation", steps.variation},
          {"variation_at_equal_work", profile.variation},
          {"ceiling_ms", profile.ceiling_seconds ? Json(1000 * *profile.ceiling_seconds) : Json()},
          {"host_ms", 1000 * profile.reading.host_step_seconds}};
}

Json stages_of(const PipelineReading& reading) {
  Json stages = Json::array();
  for (const StageReading& stage : reading.stages) {
    stages.push_back({{"name", stage.name},
                      {"workers", stage.workers},
                      {"busy_seconds", seconds_in(stage.load.busy)},
                      {"waiting_for_input_seconds", seconds_in(stage.load.waiting_for_input)},
                      {"waiting_for_output_seconds", seconds_in(stage.load.waiting_for_output)}});
  }
  return stages;
}

Json queues_of(const PipelineReading& reading) {
  Json queues = Json::array();
  for (const QueueReading& queue : reading.queues) {
    queues.push_back(
        {{"name", queue.name}, {"capacity", queue.capacity}, {"mean_depth", queue.depth.mean()}});
  }
  return queues;
}

Json features_of(const FeatureTimeReading& times) {
  return {{"batches", times.batches},
          {"upload_seconds", times.upload_seconds},
          {"encode_seconds", times.encode_seconds},
          {"prompt_seconds", times.prompt_seconds},
          {"transfer_seconds", times.transfer_seconds},
          {"sending_seconds", times.sending_seconds},
          {"transfer_bytes", times.transfer_bytes}};
}

Json role_of(const RolePlan& plan, const RoleSeen& seen) {
  Json role = {{"device", plan.gpu ? "GPU " + std::to_string(plan.gpu->listed) : "CPU"},
               {"peak_bytes", seen.peak_bytes},
               {"cap_bytes", or_null(seen.cap)}};
  role["gpu_use"] = seen.gpu ? Json(seen.gpu->busy_share) : Json();
  role["gpu_memory_bytes"] = seen.gpu ? Json(seen.gpu->used_bytes) : Json();
  role["watts"] = seen.gpu ? Json(seen.gpu->watts) : Json();
  role["watts_limit"] = seen.gpu ? Json(seen.gpu->watts_limit) : Json();
  return role;
}

Json thresholds_json(const Profile& profile) {
  Json list = Json::array();
  for (const Threshold& threshold : thresholds_of(profile)) {
    list.push_back({{"name", threshold.name},
                    {"limit", threshold.limit},
                    {"should_be", threshold.is_least ? "above" : "below"},
                    {"measured", or_null(threshold.measured)},
                    {"crossed", threshold.is_crossed()}});
  }
  return list;
}

Json grade_json(const Profile& profile) {
  const auto marks = marks_of(profile);
  Json list = Json::array();
  for (const Mark& mark : marks) {
    list.push_back(
        {{"name", mark.name}, {"measured", mark.measured}, {"grade", name_of(mark.grade)}});
  }
  return {{"grade", name_of(grade_of(marks))}, {"marks", std::move(list)}};
}

Json findings_json(const Profile& profile) {
  Json list = Json::array();
  double before = profile.clips_per_second;
  for (const Finding& finding : profile.findings) {
    list.push_back({{"cause", name_of(finding.cause)},
                    {"cost_share", finding.cost_share},
                    {"reason", finding.reason},
                    {"flag", finding.knob ? Json(finding.knob->flag) : Json()},
                    {"key", finding.knob ? Json(finding.knob->key) : Json()},
                    {"value", finding.knob ? Json(finding.knob->value) : Json()},
                    {"remark", finding.remark},
                    {"predicted_step_ms", 1000 * finding.predicted_step_seconds},
                    {"predicted_clips_per_second", finding.predicted_clips_per_second},
                    {"predicted_gain", finding.predicted_gain(before)}});
    before = finding.predicted_clips_per_second;
  }
  return list;
}

}  // namespace

std::string describe(const Profile& profile) {
  const ProfileSetup& setup = profile.setup;
  return fmt::format("{} steps of {}, clips in each: {}, {} mode, {}\n",
                     profile.reading.step_seconds.size(), setup.model_size,
                     setup.plan.batch_size * setup.plan.grad_accum, name_of(setup.plan.mode),
                     name_of(setup.plan.precision)) +
         speed(profile) + role("data", setup.plan.data, profile.reading.data) +
         role("model", setup.plan.model, profile.reading.model) + "\n" +
         describe(profile.reading.pipeline) + "\n" + thresholds(profile) + "\n" + findings(profile);
}

std::string to_json(const Profile& profile) {
  const ProfileSetup& setup = profile.setup;
  const TrialReading& reading = profile.reading;
  Json json = {{"version", kSchemaVersion},
               {"clips_per_second", profile.clips_per_second},
               {"audio_hours_per_hour", profile.audio_hours_per_hour},
               {"verdict", name_of(profile.findings.front().cause)},
               {"mode", name_of(setup.plan.mode)},
               {"model_size", setup.model_size},
               {"corpus", setup.corpus},
               {"batch_size", setup.plan.batch_size},
               {"batch_tokens", or_null(setup.plan.batch_tokens)},
               {"grad_accum", setup.plan.grad_accum},
               {"precision", name_of(setup.plan.precision)},
               {"static_shapes", setup.static_shapes},
               {"cache_dataset", setup.cache_dataset},
               {"transfer_path", name_of(setup.plan.path)},
               {"steps", reading.step_seconds.size()},
               {"warm_up_steps", setup.warm_up},
               {"step", step_of(profile)},
               {"readiness", reading.pipeline.readiness.share()},
               {"waited_share", profile.waited_share},
               {"transfer_share", profile.transfer_share},
               {"padding_share", profile.padding_share},
               {"wall_seconds", reading.wall_seconds},
               {"cpu_seconds", reading.cpu_seconds},
               {"file_seconds", reading.file_seconds},
               {"stages", stages_of(reading.pipeline)},
               {"queues", queues_of(reading.pipeline)},
               {"features", features_of(reading.pipeline.features)},
               {"data", role_of(setup.plan.data, reading.data)},
               {"model", role_of(setup.plan.model, reading.model)},
               {"thresholds", thresholds_json(profile)},
               {"grade", grade_json(profile)},
               {"findings", findings_json(profile)},
               {"step_ms", milliseconds_of(reading.step_seconds)},
               {"resident_ms", milliseconds_of(reading.resident_seconds)}};
  return json_text(json);
}

}  // namespace myxtts
