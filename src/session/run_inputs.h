// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "config/effective_config.h"
#include "device/plan/device_plan.h"
#include "parallel/world.h"
#include "run/checkpoint_store.h"
#include "session/feed/batch_feed.h"
#include "session/feed/run_data.h"
#include "session/run_devices.h"
#include "session/starting_model.h"

namespace myxtts {

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
