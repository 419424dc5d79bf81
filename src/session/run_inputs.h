// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/effective_config.h"
#include "config/model.h"
#include "config/run_config.h"
#include "data/batches/sound_window.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "model/speaker_encoder.h"
#include "parallel/world.h"
#include "run/checkpoint_store.h"
#include "run/open_model.h"
#include "session/feed/batch_feed.h"
#include "session/feed/run_data.h"
#include "session/run_monitor.h"
#include "session/starting_model.h"

namespace myxtts {

// The two devices of a run, opened, and the frozen networks on the data device. The ranks of one
// process have a model device each and share the rest, which lives as long as the last of them.
struct RunDevices {
  // Throw DeviceError.
  RunDevices(const DevicePlan& plan, const OpenModel& network, const WindowContent& windows);
  // Of a further rank, beside the same data device.
  RunDevices(const DevicePlan& plan, const RunDevices& first);

  std::shared_ptr<RoleDevice> data;
  std::unique_ptr<RoleDevice> model;
  std::shared_ptr<Dvae> dvae;                       // on the data device
  std::shared_ptr<SpeakerEncoder> speaker_encoder;  // likewise; where windows have voices
  std::int64_t speaker_dim = 0;
  at::Tensor mel_stats;  // [bands] on the data device
};

// Which batch would fit where the planned one did not, and the accumulation that keeps the step as
// large, by estimate: "By estimate --batch-size 4 --grad-accum 2 fits, with steps of the same
// size." Empty where even one clip would not.
std::string batch_that_fits(const DevicePlan& plan, const ModelConfig& model,
                            const TrainConfig& train);

// Turns an error of LibTorch in the model role's work into ours and throws it; one about memory
// with that advice. Call it in a catch block.
[[noreturn]] void rethrow_with_advice(const RoleDevice& device, const DevicePlan& plan,
                                      const ModelConfig& model, const TrainConfig& train);

// Says when the memory of a role on a GPU grows although it should be steady. On the CPU memory
// comes and goes with each batch, so nothing is watched there. At most once an hour. The device
// outlives it.
class MemoryWatch {
 public:
  // `user` takes the memory, e.g. "training".
  MemoryWatch(const RoleDevice& device, std::string user, std::int64_t first_step)
      : device_(device), first_step_(first_step), growth_(std::move(user)) {}

  // After every step.
  void look(std::int64_t step);

 private:
  const RoleDevice& device_;
  const std::int64_t first_step_;
  GrowthWatch growth_;
  HourlyWarnings warnings_;
};

// What a run trains from: the model it begins with, its clips, its devices and the feeds between
// them. Where a process has several ranks, they share it, and it is made once, before their
// threads. The settings outlive it.
class RunInputs {
 public:
  // `plans` are open, one for each rank of this process, and all have the same data role. `folder`
  // is the run directory. `options` say which rank of how many is the first, where other processes
  // have ranks too, and what watches a trial.
  //
  // Scans the corpora and learns a vocabulary where that is needed; shows progress. Throws
  // ConfigError, DataError, DeviceError.
  RunInputs(const EffectiveConfig& settings, std::vector<DevicePlan> plans,
            std::filesystem::path folder, std::optional<Checkpoint> resumed = {},
            const RunDataOptions& options = {});
  RunInputs(const RunInputs&) = delete;
  RunInputs& operator=(const RunInputs&) = delete;

  const EffectiveConfig& settings() const { return settings_; }
  const std::filesystem::path& folder() const { return folder_; }
  // The checkpoint that the run goes on from; nothing: it begins.
  const std::optional<Checkpoint>& resumed() const { return resumed_; }
  const StartingModel& start() const { return start_; }
  const RunData& data() const { return data_; }
  BatchFeeds& feeds() { return feeds_; }
  const StageProbe* probe() const { return probe_; }  // of a trial, or null

  std::size_t ranks() const { return plans_.size(); }  // of this process
  // A rank's place among those of this process.
  std::size_t place_of(const World& world) const;
  const DevicePlan& plan(std::size_t place) const { return plans_[place]; }
  const RunDevices& devices(std::size_t place) const { return devices_[place]; }

 private:
  const EffectiveConfig& settings_;
  const std::vector<DevicePlan> plans_;
  const std::filesystem::path folder_;
  const std::optional<Checkpoint> resumed_;
  const std::int64_t first_rank_;
  const StageProbe* const probe_;
  StartingModel start_;
  RunData data_;
  std::vector<RunDevices> devices_;
  BatchFeeds feeds_;
};

}  // namespace myxtts
