// SPDX-License-Identifier: Apache-2.0
#include "session/run_inputs.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/message_text.h"
#include "data/mel_statistics.h"
#include "device/machine.h"
#include "run/model_folder.h"

namespace myxtts {
namespace {

StartingModel starting_model(const EffectiveConfig& settings, const std::filesystem::path& folder,
                             const std::optional<Checkpoint>& resumed) {
  const TrainConfig& train = settings.values.train;
  if (resumed) return start_from_folder(resumed->folder, folder, train.stage);
  if (train.init) {
    return start_from_folder(*train.init, folder, train.stage, asked_size(settings));
  }
  return start_from_nothing(settings.values, folder);
}

void warn_of_mute_model() {
  log_warning("train",
              "The model starts from nothing, its DVAE and its decoder too, which this stage does "
              "not train: it learns, but it cannot be heard until those stages are trained. To "
              "speak soon, start from a trained model with --init.");
}

// With the state of the checkpoint, and with all ranks of this process counted.
RunDataOptions completed(RunDataOptions options, const std::optional<Checkpoint>& resumed,
                         std::size_t own_ranks) {
  options.world_size = std::max(options.world_size, static_cast<std::int64_t>(own_ranks));
  if (resumed) options.resumed = read_training_state(resumed->folder / files::kState);
  return options;
}

std::vector<std::string> read_names(const std::filesystem::path& file) {
  constexpr std::size_t kLargest = 64 << 20;  // bytes
  const std::string text = read_text_file(file, "list of speakers", kLargest);
  try {
    return nlohmann::json::parse(text).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format("{} is no list of speakers.", file.string()));
  }
}

// A few of them, for a sentence.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  const auto few = std::span(names).first(std::min(kNamed, names.size()));
  return fmt::format(
      "{}{}", fmt::join(few, ", "),
      names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "");
}

std::vector<std::string> only_in(const std::vector<std::string>& these,
                                 const std::vector<std::string>& those) {
  std::vector<std::string> found;  // both are in order
  std::ranges::set_difference(these, those, std::back_inserter(found));
  return found;
}

// A direction of the checkpoint belongs to each speaker's number.
void refuse_other_speakers(const std::filesystem::path& checkpoint,
                           const std::vector<std::string>& now) {
  const auto file = checkpoint / files::kSpeakers;
  if (!std::filesystem::exists(file)) return;  // it was made before there were such files
  const auto before = read_names(file);
  if (before == now) return;
  const auto added = only_in(now, before);
  const auto missing = only_in(before, now);
  throw DataError(fmt::format(
      "The run tells {} speakers apart, and the clips to train on are of {} others{}{}: it cannot "
      "go "
      "on. Resume it with the corpus it began with, or begin another run with its model: myxtts "
      "train --stage speaker --init {} --checkpoint-dir DIR",
      before.size(), now.size(), added.empty() ? "" : fmt::format("; new: {}", some_of(added)),
      missing.empty() ? "" : fmt::format("; missing: {}", some_of(missing)), checkpoint.string()));
}

// Those that the stage speaker tells apart, in every checkpoint.
void keep_speakers(const StartingModel& start, const RunData& data,
                   const std::optional<Checkpoint>& resumed) {
  const std::vector<std::string>& names = data.speakers().names();
  if (resumed) refuse_other_speakers(resumed->folder, names);
  write_file_atomically(start.folder / files::kSpeakers,
                        bytes_of(nlohmann::json(names).dump(1) + "\n"));
}

// Before anything else is trained: every network depends on them from then on.
const OpenModel& network_for(StartingModel& start, const RunData& data, const TrainConfig& train,
                             const std::optional<Checkpoint>& resumed) {
  if (train.stage == ModelPart::Speaker) keep_speakers(start, data, resumed);
  if (start.from_nothing && train.stage == ModelPart::Dvae) {
    const MelStatistics found = mel_statistics(
        data.corpus(), static_cast<std::uint64_t>(train.seed), SystemProbe().cpu().usable_cores());
    set_mel_stats(start, found.scale);
    log_info("train", "mel_stats were computed from {}, {:.1f} minutes of speech",
             counted(found.clips, "clip"), found.minutes);
  }
  return start.network;
}

std::vector<RunDevices> open_all(std::span<const DevicePlan> plans, const OpenModel& network,
                                 ModelPart stage) {
  std::vector<RunDevices> devices;
  devices.reserve(plans.size());
  devices.emplace_back(plans.front(), network, stage);
  for (const DevicePlan& plan : plans.subspan(1)) devices.emplace_back(plan, devices.front());
  return devices;
}

}  // namespace

RunInputs::RunInputs(const EffectiveConfig& settings, std::vector<DevicePlan> plans,
                     std::filesystem::path folder, std::optional<Checkpoint> resumed,
                     const RunDataOptions& options)
    : settings_(settings),
      plans_(std::move(plans)),
      folder_(std::move(folder)),
      resumed_(std::move(resumed)),
      first_rank_(options.rank),
      probe_(options.probe),
      start_(starting_model(settings, folder_, resumed_)),
      data_(settings.values, plans_.front(), start_, folder_,
            completed(options, resumed_, plans_.size())),
      devices_(open_all(plans_, network_for(start_, data_, settings.values.train, resumed_),
                        settings.values.train.stage)),
      feeds_(*this) {
  const bool is_trial = options.probe != nullptr;
  if (start_.from_nothing && settings.values.train.stage == ModelPart::Gpt && !is_trial) {
    warn_of_mute_model();
  }
}

std::size_t RunInputs::place_of(const World& world) const {
  return static_cast<std::size_t>(world.rank - first_rank_);
}

}  // namespace myxtts
