// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/plan/device_plan.h"

namespace myxtts {

// The messages of the start of a run, in the words that users of the original program look for.
// Each function is called when its lines have become true and is given what really happened.

using Lines = std::vector<std::string>;

// Before the devices are opened: what is about to be set up.
Lines configuring(const DevicePlan& plan);

// After open_devices(): `plans` are those of the ranks of this process, `visible_devices` is
// CUDA_VISIBLE_DEVICES as CUDA found it.
Lines configured(std::span<const DevicePlan> plans, const std::string& visible_devices);

// The pipeline as it was made: threads that read and decode, and decoded batches in host memory.
Lines pipeline_made(const DevicePlan& plan, std::size_t workers, std::size_t buffer_batches);

// Where the model is made on its device, as its weights are moved there.
Lines placing_model(const DevicePlan& plan);

// After the pipeline was started; `delay` is what training waits at least.
Lines waiting(const DevicePlan& plan, std::chrono::nanoseconds delay);

// How long the start really waited.
struct StartWait {
  std::chrono::nanoseconds for_data = {};   // until the ring was full, or no more data came
  std::chrono::nanoseconds for_delay = {};  // what was left of the delay then
  std::int64_t ready_batches = 0;           // on the model device, when the wait ended
};
Lines training_starts(const DevicePlan& plan, const StartWait& wait);

}  // namespace myxtts
