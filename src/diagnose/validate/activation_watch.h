// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "device/role_device.h"
#include "diagnose/validate/tensor_places.h"

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

}  // namespace myxtts
