// SPDX-License-Identifier: Apache-2.0
#include "session/run_inputs.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
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
#include "device/torch_device.h"
#include "diagnose/memory/memory_plan.h"
#include "run/model_folder.h"

namespace myxtts {

RunDevices::RunDevices(const DevicePlan& plan, const RunDevices& first)
    : data(first.data),
      model(open_role_device(Role::Model, plan.model)),
      dvae(first.dvae),
      speaker_encoder(first.speaker_encoder),
      speaker_dim(first.speaker_dim),
      mel_stats(first.mel_stats) {}

RunDevices::RunDevices(const DevicePlan& plan, const OpenModel& network,
                       const WindowContent& windows)
    : data(open_role_device(Role::Data, plan.data)),
      model(open_role_device(Role::Model, plan.model)) {
  const auto scope = data->enter(data->stream());
  try {
    const auto device = torch_device(*data);
    dvae = std::make_unique<Dvae>(network.config.dvae, on_device(network.dvae, device));
    if (windows.with_voices) {
      speaker_encoder = std::make_unique<SpeakerEncoder>(
          network.config.speaker_encoder, on_device(network.model, device, kSpeakerEncoderPrefix));
      speaker_dim = network.config.speaker_encoder.output_dim;
    }
    mel_stats = network.model.at("mel_stats").to(device);
  } catch (const c10::Error&) {
    data->rethrow();
  }
}

std::string batch_that_fits(const DevicePlan& plan, const ModelConfig& model,
                            const TrainConfig& train) {
  if (facts_of(train.stage).on_windows)
    return " Give a smaller --batch-size or --windows-per-clip.";
  const RolePlan& role = plan.model;
  if (!role.gpu) return {};
  const MemoryModel memory = usual_memory_model(model, plan.savers, train.guide > 0);
  const MemoryNeeds needs = memory(plan.precision, /*cpu=*/false);
  if (!needs.sum_bytes) return {};
  const std::int64_t fixed = needs.model.fixed_bytes + *needs.sum_bytes;
  const std::int64_t room = role.memory_cap_bytes.value_or(role.gpu->free_bytes);
  const std::int64_t slots = plan.ring_slots * needs.slot_bytes;
  const std::int64_t clips =
      std::min((room - fixed) / (needs.model.clip_bytes + slots),
               plan.batch_size - 1);  // the planned one did not fit, whatever the estimate
  if (clips < 1) return {};
  const std::int64_t step = plan.batch_size * plan.grad_accum;
  return fmt::format(
      " By estimate --batch-size {} --grad-accum {} fits, with steps of the same size.", clips,
      (step + clips - 1) / clips);
}

void rethrow_with_advice(const RoleDevice& device, const DevicePlan& plan, const ModelConfig& model,
                         const TrainConfig& train) {
  std::string advice;
  try {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    advice = batch_that_fits(plan, model, train);
  } catch (const c10::Error&) {  // of another kind: the device knows what to make of it
  }
  try {
    device.rethrow();
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + advice);
  }
  throw InternalError("the device threw nothing");
}

void MemoryWatch::look(std::int64_t step) {
  if (device_.gpu() < 0) return;
  const auto grown = growth_.observe(step - first_step_ - 1, device_.memory().read().reserved);
  if (grown) warnings_.warn("memory growth", *grown);
}

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
              "The model starts from nothing, its DVAE and its decoder too, which this part does "
              "not train: it learns, but it cannot be heard until those parts are trained. To "
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

// Those that the part speaker tells apart, in every checkpoint.
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
  if (windows_of(train.stage).with_speakers) keep_speakers(start, data, resumed);
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
                                 const WindowContent& windows) {
  std::vector<RunDevices> devices;
  devices.reserve(plans.size());
  devices.emplace_back(plans.front(), network, windows);
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
                        windows_of(settings.values.train.stage))),
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
