// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "base/files.h"
#include "weights/safetensors.h"

namespace myxtts {

// Tensors by name, the type that networks are built on.
using TensorsByName = std::map<std::string, at::Tensor, std::less<>>;

// Of a tensor of any device.
TensorKind kind_of(const at::Tensor& tensor);

// A tensor of a mapped file, on the CPU. It shares the file's pages, unless it lies at an address
// where kernels must not read its elements.
at::Tensor tensor_on(const TensorView& view, const std::shared_ptr<const MappedFile>& file);

// The tensors of a safetensors file, on the CPU. They share the mapped file: opening copies
// nothing, pages are read when they are used, and writing to a tensor changes this process's
// memory, never the file. Throws DataError.
TensorsByName read_tensors(const std::filesystem::path& path);

// Throws DataError that names the file and the tensor where a number is NaN or infinite. Reads it
// all, as fast as memory does.
void require_finite(const TensorsByName& tensors, const std::filesystem::path& file);
void require_finite(const std::string& name, const at::Tensor& tensor,
                    const std::filesystem::path& file);

// Writes tensors of any device and layout; the file appears whole or not at all. Throws DataError.
void write_tensors(const std::filesystem::path& path, const TensorsByName& tensors,
                   const TextMap& metadata = {});

}  // namespace myxtts
