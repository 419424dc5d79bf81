// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "diagnose/profile/profile.h"
#include "diagnose/report/report.h"
#include "diagnose/validate/validation_report.h"
#include "train/step/part_training.h"

namespace myxtts {

// Steps of one batch that the short training of the last step is asked for.
inline constexpr std::int64_t kPipelineSteps = 20;

// That all batches of a short training through the real pipeline came, that they were ready when
// the model device wanted them or else the data device was busy making them, and that both devices
// worked at the same time.
Checks check_pipeline(const TrialReading& trial);

// Sends random bytes from the data device to the model device and back the way a run's batches
// travel (pipeline/batch_transfer.h) and compares each bit; and looks which way the copies took,
// and how fast they were by the device's own clock.
// The largest send has that many bytes.
Checks check_transfer(RoleDevice& data, RoleDevice& model, BatchPath path, std::size_t largest);

// Copies by where they went from and to: LibTorch's numbers of GPUs, -1 is host memory.
using CopyWays = std::set<std::pair<int, int>>;

// That the copies between two devices, in both directions, went the way of the plan.
Check check_path(BatchPath path, const CopyWays& taken, int data_gpu, int model_gpu);

// A network that is trained one step, and the parts of the step that are checked. A test may
// replace the last three, which are the network's own.
struct ModelTrial {
  PartTraining& training;
  DeviceBatch& batch;
  std::function<NamedTensors()> kept = [this] { return training.kept(); };
  std::function<void()> pass = [this] { training.accumulate(batch); };  // forward and backward
  std::function<StepNumbers()> update = [this] {
    training.update(1e-4);
    return training.finish_numbers().back();
  };

  ModelTrial(PartTraining& trained, DeviceBatch& on) : training(trained), batch(on) {}
  ModelTrial(const ModelTrial&) = delete;
  ModelTrial& operator=(const ModelTrial&) = delete;
};

// That every parameter and average, every activation and every gradient is on the model device, and
// that the step's numbers are finite and move the weights.
Checks check_model(const ModelTrial& trial);

// A batch of made-up clips of a few seconds, on the device.
DeviceBatch made_up_batch(const GptConfig& gpt, RoleDevice& device, std::int64_t clips);

// The cap that is tried where the plan has none.
inline constexpr std::int64_t kTrialCap = std::int64_t{64} << 20;

// That the planned cards, and no others, can be used by this process; on the CPU that none can.
// `variable` is CUDA_VISIBLE_DEVICES, `shown` are the PCI places of the cards that CUDA shows.
Check check_visible(const DevicePlan& plan, const std::string& variable,
                    const std::vector<std::string>& shown, bool cuda_is_open);

// That a role's device is the planned one.
Check check_device(Role role, const RolePlan& plan, const RoleDevice& opened);

// Takes that many bytes of a role's memory and gives them back; false: they were refused.
using TryTake = std::function<bool(std::int64_t bytes)>;

// That one byte over a cap is refused and less is not. `planned`: the plan has that cap; it was
// made up for the trial otherwise.
Check check_cap(Role role, std::int64_t cap, bool planned, const TryTake& try_take);

// That the data role of a split runs on the multiprocessors it was given: `used` are those that a
// probe on its stream ran on.
Check check_split(const DevicePlan& plan, const std::vector<int>& used);

// TryTake of a real device: makes a tensor as work of the role.
bool can_take(RoleDevice& device, std::int64_t bytes);

// What is validated. Tests put a broken part in place of a sound one.
struct ValidationParts {
  DevicePlan plan = {};                 // open
  ModelConfig model = {};               // the network that is tried
  Checks checklist = {};                // doctor's
  std::string visible_devices = {};     // CUDA_VISIBLE_DEVICES
  std::vector<std::string> shown = {};  // PCI places of the cards that CUDA shows
  bool cuda_is_open = false;
  std::function<std::unique_ptr<RoleDevice>(Role role, const RolePlan& plan)> open =
      open_role_device;
  std::function<std::vector<int>(const RoleDevice& data)> multiprocessors = {};
  std::function<void(ModelTrial& trial)> before_model = {};
  std::size_t largest_send = std::size_t{16} << 20;  // bytes
  std::function<TrialReading()> pipeline = {};       // a training of kPipelineSteps
};

// The five steps, in order; they share the devices that the second one opens.
std::vector<ValidationStep> validation_steps(const ValidationParts& parts);

}  // namespace myxtts
