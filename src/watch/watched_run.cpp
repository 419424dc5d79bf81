// SPDX-License-Identifier: Apache-2.0
#include "watch/watched_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/message_text.h"
#include "http/answers.h"
#include "run/checkpoint_store.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kLargestConfig = 1'000'000;  // bytes
constexpr std::int64_t kMostPointsAtOnce = 2000;   // lines of one message

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Json json_of_buckets(const std::vector<CurveBucket>& buckets, std::size_t most) {
  const bool is_exact =
      buckets.size() <= most &&
      std::ranges::all_of(buckets, [](const auto& bucket) { return bucket.lines == 1; });
  const auto shown = downsampled(buckets, most);
  auto column = [&shown](auto value) {
    auto list = Json::array();
    for (const CurveBucket& bucket : shown) list.push_back(value(bucket));
    return list;
  };
  const auto finite = [](double CurveBucket::*field) {
    return [field](const CurveBucket& bucket) {
      return bucket.finite > 0 ? Json(bucket.*field) : Json();
    };
  };
  Json json{{"exact", is_exact},
            {"steps", column([](const CurveBucket& bucket) { return Json(bucket.first); })}};
  if (is_exact) {
    json["values"] = column(finite(&CurveBucket::sum));
    return json;
  }
  json["last"] = column([](const CurveBucket& bucket) { return Json(bucket.last); });
  json["count"] = column([](const CurveBucket& bucket) { return Json(bucket.lines); });
  json["min"] = column(finite(&CurveBucket::min));
  json["max"] = column(finite(&CurveBucket::max));
  json["mean"] = column([](const CurveBucket& bucket) { return json_of(mean_of(bucket)); });
  return json;
}

std::int64_t size_of_folder(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code failed;
  for (auto entry = fs::directory_iterator(folder, failed); entry != fs::directory_iterator();
       entry.increment(failed)) {
    if (failed) break;
    bytes += FileState::of(entry->path()).size;
  }
  return bytes;
}

// The step a link such as RUN/best points at.
std::optional<std::int64_t> step_behind(const fs::path& link) {
  std::error_code failed;
  const std::string name = fs::read_symlink(link, failed).filename().string();
  const auto digits = name.find_first_of("0123456789");
  if (failed || digits == std::string::npos || name.size() - digits > 18) return {};
  return std::stoll(name.substr(digits));
}

}  // namespace

WatchedRun::WatchedRun(FoundRun found)
    : found_(std::move(found)),
      folder_(found_.folder),
      metrics_(folder_ / "metrics.jsonl"),
      skipped_(folder_ / "skipped.jsonl"),
      suspicious_(folder_ / "suspicious.jsonl") {}

bool WatchedRun::is_there() const {
  return looks_like_a_run(folder_);
}

void WatchedRun::look() {
  metrics_.look();
  status_ = RunStatus::of(folder_, seconds_since_1970());
  const FileState config = FileState::of(folder_ / "config.yaml");
  if (config == config_state_) return;
  config_state_ = config;
  settings_ = parse_kept_settings(
      read_part(folder_ / "config.yaml", 0, kLargestConfig).value_or(std::string()));
}

std::string WatchedRun::value_of(std::string_view key) const {
  const auto found = std::ranges::find(settings_, key, &KeptSetting::key);
  return found == settings_.end() ? std::string() : found->value;
}

std::string WatchedRun::part_now() const {
  const std::string part = text_in(status_.record, "stage");
  return part.empty() ? value_of("train.stage") : part;
}

std::optional<double> WatchedRun::last_of(std::string_view curve) const {
  const auto found = metrics_.curves().find(curve);
  return found == metrics_.curves().end() ? std::nullopt : found->second.last();
}

// Lines that the run itself could not write.
std::int64_t WatchedRun::unrecorded_lines() const {
  const auto lost = metrics_.curves().find("unrecorded/lines");
  if (lost == metrics_.curves().end() || lost->second.all().finite == 0) return 0;
  return static_cast<std::int64_t>(lost->second.all().sum);
}

Json WatchedRun::line_now() {
  const Json& record = status_.record;
  const bool is_alive = status_.state == RunState::Running || status_.state == RunState::Preparing;
  std::int64_t step = whole_in(record, "step").value_or(0);
  Json validation;
  Json best;
  for (const char* event : {"train/loss", "validation/loss", "skipped/loss"}) {
    const auto curve = metrics_.curves().find(event);
    if (curve != metrics_.curves().end()) step = std::max(step, curve->second.all().last);
  }
  if (const auto curve = metrics_.curves().find("validation/loss");
      curve != metrics_.curves().end()) {
    const CurveBucket& all = curve->second.all();
    validation = {{"loss", json_of(curve->second.last())}, {"step", all.last}};
    if (all.finite > 0) best = {{"loss", all.min}, {"step", curve->second.lowest_step()}};
  }
  const auto last_step = whole_in(record, "last_step");
  const auto speed = number_in(record, "steps_per_second");
  Json left;
  if (is_alive && last_step && speed && *speed > 0) {
    left = static_cast<double>(std::max<std::int64_t>(0, *last_step - step)) / *speed;
  }
  const double changed = FileState::of(folder_ / "metrics.jsonl").time();
  const auto epoch = last_of("train/epoch");
  const std::string part = part_now();
  Json line{{"id", found_.id},
            {"name", found_.id},
            {"path", folder_.string()},
            {"chain", found_.chain.empty() ? Json() : Json(found_.chain)},
            {"part", part.empty() ? Json() : Json(part)},
            {"state", name_of(status_.state)},
            {"sentence", sentence_of(status_, step, last_step)},
            {"step", step},
            {"last_step", last_step ? Json(*last_step) : Json()},
            {"epoch", json_of(epoch)},
            {"loss", json_of(last_of("train/loss"))},
            {"validation", std::move(validation)},
            {"best", std::move(best)},
            {"steps_per_second", json_of(speed)},
            {"hours_per_hour", json_of(last_of("train/audio_hours_per_hour"))},
            {"clips_per_second", json_of(last_of("train/clips_per_second"))},
            {"seconds_left", std::move(left)},
            {"ready", json_of(last_of("train/readiness"))},
            {"started", json_of(number_in(record, "started"))},
            {"updated", std::max(changed, number_in(record, "updated").value_or(0))}};
  add_notes(line, folder_, status_,
            {{"metrics.jsonl", metrics_.damaged()},
             {"skipped.jsonl", skipped_.damaged()},
             {"suspicious.jsonl", suspicious_.damaged()}},
            unrecorded_lines());
  return line;
}

Json WatchedRun::line() {
  const std::lock_guard lock(mutex_);
  look();
  return line_now();
}

Json WatchedRun::curve_list() const {
  auto list = Json::array();
  for (const auto& [name, curve] : metrics_.curves()) {
    const CurveBucket& all = curve.all();
    const bool has = all.finite > 0;
    list.push_back({{"name", name},
                    {"points", all.lines},
                    {"first_step", all.first},
                    {"last_step", all.last},
                    {"last", json_of(curve.last())},
                    {"min", has ? Json(all.min) : Json()},
                    {"max", has ? Json(all.max) : Json()}});
  }
  return list;
}

Json WatchedRun::checkpoints() const {
  const auto latest = step_behind(folder_ / "latest");
  const auto best = step_behind(folder_ / "best");
  auto list = Json::array();
  std::vector<Checkpoint> found;
  try {
    found = list_checkpoints(folder_);
  } catch (const fs::filesystem_error&) {  // removed meanwhile
  }
  for (const Checkpoint& each : found) {
    const FileState sealed = FileState::of(each.folder / kChecksums);
    list.push_back({{"step", each.step},
                    {"bytes", size_of_folder(each.folder)},
                    {"time", sealed.is_there() ? Json(sealed.time()) : Json()},
                    {"validation_loss", json_of(each.validation_loss)},
                    {"sample_cer", json_of(each.sample_cer)},
                    {"is_damaged", each.is_damaged},
                    {"is_latest", latest == each.step},
                    {"is_best", best == each.step}});
  }
  return list;
}

ExampleClip WatchedRun::example_clip() const {
  const auto example = status_.record.find("example");
  if (example == status_.record.end() || !example->is_object()) {
    return {.language = value_of("data.language")};
  }
  return {.audio = text_in(*example, "audio"),
          .text = text_in(*example, "text"),
          .language = text_in(*example, "language")};
}

Json WatchedRun::model_and_commands() {
  std::error_code gone;
  const fs::path latest = fs::read_symlink(folder_ / "latest", gone);
  if (latest != latest_ || !model_.is_there) {
    latest_ = latest;
    model_ = inspect_latest(folder_);
  }
  return commands_json(folder_, model_, example_clip());
}

Json WatchedRun::totals() {
  skipped_.look();
  suspicious_.look();
  const fs::path newest = folder_ / "samples" / sample_count_.newest;
  if (FileState::of(folder_ / "samples") != samples_state_ ||
      FileState::of(newest) != newest_samples_) {
    samples_state_ = FileState::of(folder_ / "samples");
    sample_count_ = count_samples(folder_);
    newest_samples_ = FileState::of(folder_ / "samples" / sample_count_.newest);
  }
  const auto state = read_object(folder_ / "latest" / "state.json");
  return {{"skipped_steps", json_of(last_of("train/skipped_steps"))},
          {"skipped_clips", skipped_.size()},
          {"suspicious_clips", suspicious_.size()},
          {"samples", sample_count_.samples},
          {"log_bytes", FileState::of(folder_ / "log.txt").size},
          {"seconds_trained", state ? json_of(number_in(*state, "seconds")) : Json()}};
}

Json WatchedRun::facts() {
  const std::lock_guard lock(mutex_);
  look();
  Json facts = model_and_commands();
  facts["totals"] = totals();
  facts["run"] = line_now();
  facts["curves"] = curve_list();
  facts["checkpoints"] = checkpoints();
  facts["best_by"] = value_of("run.best_by") == "cer" ? "cer" : "loss";
  facts["config"] = json_of(settings_);
  const auto plan = read_object(folder_ / "plan.json");
  facts["plan"] = plan ? *plan : Json();
  const auto of_record = [this](const char* key) {
    const auto found = status_.record.find(key);
    return found != status_.record.end() && found->is_object() ? *found : Json();
  };
  facts["pipeline"] = of_record("pipeline");
  facts["verdict"] = of_record("verdict");
  return facts;
}

Json WatchedRun::curves(const CurvesWanted& wanted) {
  const std::lock_guard lock(mutex_);
  look();
  const auto found = metrics_.between(wanted.from, wanted.to, [&](std::string_view name) {
    return wanted.names.empty() || wanted.names.contains(std::string(name));
  });
  Json curves = Json::object();
  std::int64_t from = wanted.to;
  std::int64_t to = wanted.from;
  for (const auto& [name, buckets] : found) {
    curves[name] = json_of_buckets(buckets, wanted.points);
    from = std::min(from, std::max(wanted.from, buckets.front().first));
    to = std::max(to, std::min(wanted.to, buckets.back().last));
  }
  return {{"from", found.empty() ? Json() : Json(from)},
          {"to", found.empty() ? Json() : Json(to)},
          {"curves", std::move(curves)}};
}

Json WatchedRun::samples() {
  const std::lock_guard lock(mutex_);
  look();
  return samples_json(folder_, found_.id, part_now());
}

ClipList& WatchedRun::list_named(const std::string& name) {
  ClipList& list = name == "suspicious" ? suspicious_ : skipped_;
  list.look();
  return list;
}

Json WatchedRun::clips(const std::string& list, std::size_t from, std::size_t count,
                       const std::string& reason, bool with_sounds) {
  const std::lock_guard lock(mutex_);
  const std::string sound =
      fmt::format("/api/clip?id={}&list={}&index=", in_address(found_.id), list);
  return list_named(list).json(from, count, reason, with_sounds ? sound : std::string());
}

std::optional<fs::path> WatchedRun::sound_of_clip(const std::string& list, std::size_t index) {
  const std::lock_guard lock(mutex_);
  return list_named(list).sound_of(index);
}

Json WatchedRun::log(std::int64_t from) const {
  return log_json(folder_ / "log.txt", from);
}

std::vector<KeptSetting> WatchedRun::settings() {
  const std::lock_guard lock(mutex_);
  look();
  return settings_;
}

std::set<std::string> WatchedRun::curve_names() {
  const std::lock_guard lock(mutex_);
  look();
  std::set<std::string> names;
  for (const auto& [name, curve] : metrics_.curves()) names.insert(name);
  return names;
}

std::string WatchedRun::mark_of_samples() {
  const std::lock_guard lock(mutex_);
  totals();
  return sample_count_.mark;
}

FollowedPlace WatchedRun::place() {
  const std::lock_guard lock(mutex_);
  metrics_.look();
  return {.generation = metrics_.generation(), .position = metrics_.position()};
}

Json WatchedRun::points_since(FollowedPlace& place) {
  const std::lock_guard lock(mutex_);
  metrics_.look();
  if (metrics_.generation() != place.generation) {
    place = {.generation = metrics_.generation(), .position = metrics_.position()};
    return nullptr;
  }
  Json curves = Json::object();
  std::int64_t lines = 0;
  if (place.position == metrics_.position()) return curves;
  place.position = metrics_.read_again(place.position, [&](const ReadLine& line) {
    for (const auto& [key, value] : line.values) {
      Json& curve = curves[line.event + "/" + key];
      curve["steps"].push_back(line.step);
      curve["values"].push_back(json_of(value));
    }
    return ++lines < kMostPointsAtOnce;
  });
  return curves;
}

}  // namespace myxtts
