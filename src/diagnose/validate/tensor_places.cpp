// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/tensor_places.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/human.h"
#include "device/memory_owner.h"

namespace myxtts {
namespace {

constexpr std::size_t kExamples = 3;

// Empty: it is where it should be.
std::string stray_place(const at::Tensor& tensor, const RoleDevice& device) {
  const int gpu = tensor.is_cuda() ? tensor.get_device() : -1;
  if (gpu != device.gpu()) return fmt::format("on {}", tensor.device().str());
  if (tensor.numel() == 0) return {};
  const RoleMemory* owner = owner_of(tensor);
  if (owner == &device.memory()) return {};
  return owner == nullptr ? "in memory that no role took" : "in the memory of another role";
}

}  // namespace

void TensorPlaces::look_at(const std::string& name, const at::Tensor& tensor,
                           const RoleDevice& device) {
  ++tensors;
  numbers += tensor.numel();
  std::string where = stray_place(tensor, device);
  if (where.empty()) return;
  ++strays;
  if (examples.size() < kExamples) examples.push_back({name, std::move(where)});
}

std::string TensorPlaces::describe() const {
  if (strays == 0) return fmt::format("{} tensors, {} numbers", tensors, human_count(numbers));
  std::vector<std::string> named;
  for (const Stray& stray : examples)
    named.push_back(fmt::format("{} ({})", stray.name, stray.where));
  return fmt::format("{} of {} tensors are elsewhere: {}{}", strays, tensors,
                     fmt::join(named, ", "), strays > std::ssize(examples) ? ", ..." : "");
}

}  // namespace myxtts
