// SPDX-License-Identifier: Apache-2.0
#include "weights/tensor_files.h"

#include <cmath>
#include <cstdint>
#include <memory>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/error.h"
#include "weights/safetensors.h"

namespace myxtts {
namespace {

at::ScalarType scalar_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64:
      return at::kDouble;
    case Dtype::F32:
      return at::kFloat;
    case Dtype::F16:
      return at::kHalf;
    case Dtype::BF16:
      return at::kBFloat16;
    case Dtype::I64:
      return at::kLong;
    case Dtype::I32:
      return at::kInt;
    case Dtype::I16:
      return at::kShort;
    case Dtype::I8:
      return at::kChar;
    case Dtype::U8:
      return at::kByte;
    case Dtype::Bool:
      return at::kBool;
  }
  throw InternalError("an element type has no LibTorch type");
}

Dtype dtype_of(const at::Tensor& tensor) {
  for (const Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16, Dtype::I64, Dtype::I32,
                            Dtype::I16, Dtype::I8, Dtype::U8, Dtype::Bool}) {
    if (scalar_type(dtype) == tensor.scalar_type()) return dtype;
  }
  throw InternalError("a tensor has an element type that files do not hold");
}

}  // namespace

at::Tensor tensor_on(const TensorView& view, const std::shared_ptr<const MappedFile>& file) {
  const auto options = at::TensorOptions(scalar_type(view.dtype));
  if (view.bytes.empty()) return at::empty(view.shape, options);
  auto* data = const_cast<std::byte*>(view.bytes.data());
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % element_bytes(view.dtype) == 0;
  const auto shared = at::from_blob(
      data, view.shape, [file](void*) {}, options);
  // Files of other writers may hold a tensor at an odd address, where kernels must not read it.
  if (aligned) return shared;
  auto copy = at::empty(view.shape, options);
  std::copy(view.bytes.begin(), view.bytes.end(), static_cast<std::byte*>(copy.data_ptr()));
  return copy;
}

TensorKind kind_of(const at::Tensor& tensor) {
  return {dtype_of(tensor), tensor.sizes().vec()};
}

TensorsByName read_tensors(const std::filesystem::path& path) {
  const SafetensorsReader reader(path);
  TensorsByName tensors;
  for (const auto& [name, view] : reader.tensors()) tensors[name] = tensor_on(view, reader.file());
  return tensors;
}

void require_finite(const std::string& name, const at::Tensor& tensor,
                    const std::filesystem::path& file) {
  // A sum is finite only where every number is; one that is not may also be of large numbers.
  if (!tensor.is_floating_point() || std::isfinite(tensor.sum().item<double>())) return;
  if (tensor.isfinite().all().item<bool>()) return;
  throw DataError(
      fmt::format("{} is damaged: its tensor {} holds numbers that are NaN or infinite; take "
                  "another copy of it, or make it again.",
                  file.string(), name));
}

void require_finite(const TensorsByName& tensors, const std::filesystem::path& file) {
  for (const auto& [name, tensor] : tensors) require_finite(name, tensor, file);
}

void write_tensors(const std::filesystem::path& path, const TensorsByName& tensors,
                   const TextMap& metadata) {
  TensorKinds kinds;
  for (const auto& [name, tensor] : tensors) {
    kinds[name] = kind_of(tensor);
  }
  SafetensorsWriter writer(path, kinds, metadata);
  for (const std::string& name : writer.order()) {
    const auto dense = tensors.at(name).detach().cpu().contiguous();
    writer.write({static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes()});
  }
  writer.commit();
}

}  // namespace myxtts
