// SPDX-License-Identifier: Apache-2.0
#include "session/part_chain.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/part_settings.h"
#include "run/checkpoint_store.h"
#include "run/model_folder.h"
#include "run/run_directory.h"
#include "session/run_report.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestFile = 64 << 10;  // bytes

FinishedPart finished_from(const Json& json) {
  const auto part = parse_parts(json.at("stage").get<std::string>());
  if (!part || part->size() != 1) throw DataError("it names a part that there is not");
  FinishedPart finished{.part = part->front(),
                        .budget = json.at("budget").get<std::string>(),
                        .steps = json.at("steps").get<std::int64_t>(),
                        .seconds = json.at("seconds").get<double>()};
  const Json& loss = json.at("validation_loss");
  if (!loss.is_null()) finished.validation_loss = loss.get<double>();
  if (json.contains("max_steps")) {
    finished.max_steps = json.at("max_steps").get<std::int64_t>();
    finished.epochs = json.at("epochs").get<std::int64_t>();
  }
  return finished;
}

std::vector<FinishedPart> read_finished(const fs::path& file) {
  if (!fs::exists(file)) return {};
  const std::string text = read_text_file(file, "record of the chain", kLargestFile);
  try {
    std::vector<FinishedPart> finished;
    const Json json = Json::parse(text);
    for (const Json& each : json.at("finished")) finished.push_back(finished_from(each));
    return finished;
  } catch (const std::exception& error) {
    throw DataError(fmt::format(
        "{} cannot be understood ({}). It names the parts that are finished: remove it to have "
        "each of them looked at again, which repeats no step.",
        file.string(), error.what()));
  }
}

}  // namespace

PartChain::PartChain(const EffectiveConfig& settings, fs::path run)
    : settings_(settings),
      run_(std::move(run)),
      parts_(*settings.values.train.stages),
      finished_(read_finished(run_ / kChainFile)) {
  bool begun = !finished_.empty();
  for (std::size_t index = 0; index < size(); ++index) begun = begun || has_begun(index);
  if (begun && !settings.values.run.resume) {
    throw DataError(fmt::format(
        "{} holds an earlier run of these parts: continue it with --resume, or give the new run a "
        "folder of its own with --checkpoint-dir.",
        run_.string()));
  }
  refuse_inserted_part();
  for (std::size_t index = 0; index < size(); ++index) {
    const FinishedPart* before = finished(parts_[index]);
    if (before == nullptr || !is_done(index) || ended_by_what_it_has_now(*before)) continue;
    log_warning("train",
                "The part {} stays as it is, with {}: a later one has begun from its model, "
                "so that another budget or --max-steps does not count for it.",
                name_of(parts_[index]), counted(before->steps, "step"));
  }
}

// What was trained after it was trained without it.
void PartChain::refuse_inserted_part() const {
  const auto is_new = [this](std::size_t index) {
    return !has_begun(index) && finished(parts_[index]) == nullptr;
  };
  for (std::size_t index = 0; index + 1 < size(); ++index) {
    if (!is_new(index) || is_new(index + 1)) continue;
    throw ConfigError(fmt::format(
        "The part {0} would come before {1}, which {2} has trained without it. Leave {0} out of "
        "--stages, or give the new run a folder of its own with --checkpoint-dir.",
        name_of(parts_[index]), name_of(parts_[index + 1]), run_.string()));
  }
}

std::string PartChain::budget_of(ModelPart part) const {
  const auto& budgets = settings_.values.train.stage_budget;
  return budgets && budgets->contains(part) ? format_part_budget(budgets->at(part)) : "";
}

bool PartChain::has_begun(std::size_t index) const {
  return holds_checkpoints(folder(index));
}

const FinishedPart* PartChain::finished(ModelPart part) const {
  const auto found = std::ranges::find(finished_, part, &FinishedPart::part);
  return found == finished_.end() ? nullptr : &*found;
}

bool PartChain::ended_by_what_it_has_now(const FinishedPart& before) const {
  if (before.budget != budget_of(before.part)) return false;
  if (!before.max_steps) return true;
  const TrainConfig now = settings_of_part(settings_, before.part).values.train;
  return before.max_steps == now.max_steps.value_or(0) && before.epochs == now.epochs;
}

bool PartChain::is_done(std::size_t index) const {
  const FinishedPart* before = finished(parts_[index]);
  if (before == nullptr) return false;
  if (ended_by_what_it_has_now(*before)) return true;
  for (std::size_t later = index + 1; later < size(); ++later) {
    if (has_begun(later)) return true;
  }
  return false;
}

std::optional<std::size_t> PartChain::next() const {
  for (std::size_t index = 0; index < size(); ++index) {
    if (!is_done(index)) return index;
  }
  return std::nullopt;
}

fs::path PartChain::folder(std::size_t index) const {
  return run_ / name_of(parts_[index]);
}

EffectiveConfig PartChain::settings_of(std::size_t index) const {
  EffectiveConfig own = settings_of_part(settings_, parts_[index]);
  own.stage_settings.clear();
  own.values.run.checkpoint_dir = folder(index);
  if (!own.values.data.cache_dir) own.values.data.cache_dir = run_;
  if (index > 0) {
    own.values.train.init = handed_on(index - 1);
    own.values.train.vocab.reset();
  }
  return own;
}

// What the part gives to the next one.
fs::path PartChain::handed_on(std::size_t index) const {
  const RunConfig own = settings_of_part(settings_, parts_[index]).values;
  if (own.train.hand_on == HandOn::Best) {
    if (const auto best = best_checkpoint(folder(index), best_by_of(own))) return best->folder;
  }
  return folder(index) / "latest";
}

std::string PartChain::title(std::size_t index) const {
  return fmt::format("Training {} ({} of {})", name_of(parts_[index]), index + 1, size());
}

std::string PartChain::opening(std::size_t index) const {
  const EffectiveConfig own = settings_of(index);
  std::string text = fmt::format("part {} of {}: {}", index + 1, size(), name_of(parts_[index]));
  if (const std::string budget = budget_of(parts_[index]); !budget.empty()) {
    text += budget.ends_with('m')
                ? fmt::format(", {} minute{}", budget.substr(0, budget.size() - 1),
                              budget == "1m" ? "" : "s")
            : budget.ends_with('h') ? fmt::format(", {} of speech", budget)
                                    : fmt::format(", {} step{}", budget, budget == "1" ? "" : "s");
  }
  const auto& init = own.values.train.init;
  return text + (init ? fmt::format(", from {}", init->string()) : ", from nothing");
}

void PartChain::begin() const {
  write();
  if (!fs::is_symlink(run_ / "latest")) show("latest", 0);
}

void PartChain::show_models(std::size_t index) const {
  std::error_code unreadable;
  if (!fs::exists(folder(index) / "latest", unreadable)) return;
  show("latest", index);
  if (fs::exists(folder(index) / "best", unreadable)) {
    show("best", index);
  } else {
    fs::remove(run_ / "best", unreadable);  // of an earlier part
  }
}

void PartChain::show(const char* name, std::size_t index) const {
  std::error_code failed;
  const fs::path link = run_ / fmt::format(".{}-{}", name, ::getpid());
  fs::remove(link, failed);
  fs::create_directory_symlink(fs::path(name_of(parts_[index])) / name, link, failed);
  if (!failed) fs::rename(link, run_ / name, failed);
  if (failed) {
    throw DataError(
        fmt::format("{} cannot be made: {}.", (run_ / name).string(), failed.message()));
  }
}

void PartChain::finish(std::size_t index, std::int64_t steps, double seconds,
                       const std::optional<double>& validation_loss) {
  const ModelPart part = parts_[index];
  std::erase_if(finished_, [part](const FinishedPart& each) { return each.part == part; });
  const TrainConfig own = settings_of_part(settings_, part).values.train;
  finished_.push_back({.part = part,
                       .budget = budget_of(part),
                       .max_steps = own.max_steps.value_or(0),
                       .epochs = own.epochs,
                       .steps = steps,
                       .seconds = seconds,
                       .validation_loss = validation_loss});
  write();
}

void PartChain::write() const {
  Json finished = Json::array();
  for (const FinishedPart& each : finished_) {
    finished.push_back(
        {{"stage", name_of(each.part)},
         {"budget", each.budget},
         {"steps", each.steps},
         {"seconds", each.seconds},
         {"validation_loss", each.validation_loss ? Json(*each.validation_loss) : Json(nullptr)}});
    if (!each.max_steps) continue;
    finished.back()["max_steps"] = *each.max_steps;
    finished.back()["epochs"] = *each.epochs;
  }
  const Json json{{"version", 1}, {"stages", format_parts(parts_)}, {"finished", finished}};
  write_file_atomically(run_ / kChainFile, bytes_of(json.dump(1) + "\n"));
}

namespace {

// Twice what the part was ended by, as flags.
std::string twice(const FinishedPart& part) {
  const auto budgets = parse_part_budgets(fmt::format("{}={}", name_of(part.part), part.budget));
  if (budgets) {
    PartBudget budget = budgets->at(part.part);
    if (budget.minutes) *budget.minutes *= 2;
    if (budget.steps) *budget.steps *= 2;
    return fmt::format("--stage-budget {}={}", name_of(part.part), format_part_budget(budget));
  }
  const bool by_steps = part.max_steps.value_or(0) > 0 && part.steps >= *part.max_steps;
  return by_steps ? fmt::format("--max-steps {}", 2 * part.steps)
                  : fmt::format("--epochs {}", 2 * part.epochs.value_or(1));
}

}  // namespace

std::string PartChain::how_to_go_on() const {
  const FinishedPart* last = finished(parts_.back());
  MYXTTS_CHECK(last != nullptr, "the last part of {} is not finished", run_.string());
  return fmt::format(
      "{} of {} {} finished: nothing was left to train. To train {} on, type:\n  {} {}\n",
      size() == 1 ? "The only part" : fmt::format("All {} parts", size()), run_.string(),
      size() == 1 ? "is" : "are", name_of(last->part), resume_command(run_), twice(*last));
}

std::string PartChain::summary() const {
  std::string text;
  for (const ModelPart part : parts_) {
    const FinishedPart* each = finished(part);
    if (each == nullptr) continue;
    const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(each->seconds));
    text += fmt::format(
        "{:<8}  {} in {}{}\n", name_of(part), counted(each->steps, "step"), human_duration(time),
        each->validation_loss ? fmt::format(", validated {:.4f} at best", *each->validation_loss)
                              : "");
  }
  return text;
}

}  // namespace myxtts
