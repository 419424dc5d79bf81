// SPDX-License-Identifier: Apache-2.0
#include "device/memory_owner.h"

#include <ATen/ATen.h>

#include "device/cpu/counting_allocator.h"
#include "device/cuda_plugin.h"

namespace myxtts {

const RoleMemory* owner_of(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return nullptr;
  const c10::DataPtr& data = tensor.storage().data_ptr();
  if (tensor.is_cpu()) return counted_owner_of(data);
  return require_cuda().owner_of(data.get());
}

}  // namespace myxtts
