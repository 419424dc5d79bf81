// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "device/role_device.h"

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
  // share a device only the second tells them apart: see device/memory_owner.h.
  void look_at(const std::string& name, const at::Tensor& tensor, const RoleDevice& device);

  // "12 tensors, 3.1 M numbers" or "2 of 12 tensors are elsewhere: name (where), ...".
  std::string describe() const;
};

}  // namespace myxtts
