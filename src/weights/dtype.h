// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// The element types that weights come in.
enum class Dtype { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

using Shape = std::vector<std::int64_t>;  // empty: a scalar

std::size_t element_bytes(Dtype dtype);
bool is_floating(Dtype dtype);

// "F32" in a safetensors header.
std::string_view safetensors_name(Dtype dtype);
std::optional<Dtype> dtype_of_safetensors(std::string_view name);

// "FloatStorage" in a .pth file.
std::string_view storage_name(Dtype dtype);
std::optional<Dtype> dtype_of_storage(std::string_view name);

// Elements of a shape; nothing for a negative dimension or a product beyond 2^63.
std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape);

// Bytes of a dense tensor; nothing where they cannot be counted in 64 bits.
std::optional<std::uint64_t> dense_bytes(Dtype dtype, std::span<const std::int64_t> shape);

// "[1024, 80, 1]", for messages.
std::string describe_shape(std::span<const std::int64_t> shape);

// A dense, row-major tensor in memory that somebody else owns.
struct TensorView {
  Dtype dtype = Dtype::F32;
  Shape shape;
  std::span<const std::byte> bytes;
};

// The same numbers as fp32, in `buffer` unless they are fp32 already. The view's elements are
// floating-point numbers of any width.
TensorView as_fp32(const TensorView& view, std::vector<std::byte>& buffer);

}  // namespace myxtts
