// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "config/effective_config.h"
#include "device/plan/device_plan.h"
#include "run/checkpoint_store.h"
#include "run/run_directory.h"
#include "session/feed/batch_feed.h"
#include "session/feed/run_data.h"
#include "session/run_devices.h"
#include "session/starting_model.h"

namespace myxtts {

// The ranks that one process trains.
struct ProcessRanks {
  std::vector<DevicePlan> plans;  // of each, open; all have the same data role
  std::int64_t first = 0;         // rank of the first one
  std::int64_t world_size = 1;
};

// What a run trains from: the model it begins with, its clips, its devices and the feeds between
// them. Where a process has several ranks, they share it, and it is made once, before their
// threads. Settings and directory outlive it.
class RunInputs {
 public:
  // Scans the corpora and learns a vocabulary where that is needed; shows progress. Throws
  // ConfigError, DataError, DeviceError.
  RunInputs(const EffectiveConfig& settings, const ProcessRanks& ranks, const RunDirectory& run,
            const std::optional<Checkpoint>& resumed);
  RunInputs(const RunInputs&) = delete;
  RunInputs& operator=(const RunInputs&) = delete;

  const StartingModel& start() const { return start_; }
  const RunData& data() const { return data_; }
  BatchFeeds& feeds() { return feeds_; }

  // Of a rank, by its place among those of this process.
  const DevicePlan& plan(std::size_t place) const { return ranks_.plans[place]; }
  RunDevices& devices(std::size_t place) { return devices_[place]; }

 private:
  const ProcessRanks ranks_;
  StartingModel start_;
  RunData data_;
  std::vector<RunDevices> devices_;
  const FeedParts parts_;
  BatchFeeds feeds_;
};

}  // namespace myxtts
