// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "diagnose/validate/validation_report.h"
#include "train/step/stage_training.h"

namespace myxtts {

// Tensors that were looked at, and those of them that are not on the device they should be on.
struct TensorPlaces {
  struct Stray {
    std::string name;
    std::string where;  // "on cuda:0", "in the memory of another role"
  };

  std::int64_t tensors = 0;
  std::int64_t numbers = 0;  // in all of them
  std::int64_t strays = 0;
  std::vector<Stray> examples = {};  // of the strays, a few

  // Looks at a tensor that should be on `device` and in memory that its role took. Where both roles
  // share a device only the second tells them apart: see device/torch_device.h.
  void look_at(const std::string& name, const at::Tensor& tensor, const RoleDevice& device);

  // "12 tensors, 3.1 M numbers" or "2 of 12 tensors are elsewhere: name (where), ...".
  std::string describe() const;
};

}  // namespace myxtts

namespace at {
struct RecordFunction;
}

namespace myxtts {

// While it lives, looks at whatever LibTorch's operations make in this thread and in the threads of
// its backward passes: activations, gradients on their way, and the arrays that our own kernels
// write to, which LibTorch makes too. Seeds and sizes, integers of a number or two, are left out.
//
// One at a time in a process. The device outlives it.
class ActivationWatch {
 public:
  explicit ActivationWatch(const RoleDevice& device);
  ActivationWatch(const ActivationWatch&) = delete;
  ActivationWatch& operator=(const ActivationWatch&) = delete;
  ~ActivationWatch();

  TensorPlaces seen() const;

 private:
  static void look(const at::RecordFunction& operation);
  void look_at(const char* operation, const at::Tensor& tensor);

  const RoleDevice& device_;
  std::uint64_t callback_ = 0;

  // Guarded by mutex_.
  mutable std::mutex mutex_;
  TensorPlaces places_;
};

// A network that is trained one step, and what is looked at on the way. The last three are the
// network's own unless a test puts something else in their place.
struct ModelTrial {
  StageTraining& training;
  DeviceBatch& batch;
  std::function<NamedTensors()> kept = [this] { return training.kept(); };
  std::function<void()> pass = [this] { training.accumulate(batch); };  // forward and backward
  std::function<StepNumbers()> update = [this] {
    training.update(1e-4);
    return training.finish_numbers().back();
  };

  ModelTrial(StageTraining& trained, DeviceBatch& on) : training(trained), batch(on) {}
  ModelTrial(const ModelTrial&) = delete;
  ModelTrial& operator=(const ModelTrial&) = delete;
};

// That every parameter and average, every activation and every gradient is on the model device, and
// that the step's numbers are finite and move the weights.
CheckResults check_model(const ModelTrial& trial);

// A batch of made-up clips of a few seconds, on the device.
DeviceBatch made_up_batch(const GptConfig& gpt, RoleDevice& device, std::int64_t clips);

}  // namespace myxtts
