// SPDX-License-Identifier: Apache-2.0
#include "weights/dtype.h"

#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace myxtts {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::size_t bytes;
  bool floating;
  std::string_view safetensors;
  std::string_view storage;
};

constexpr std::array<DtypeRow, 10> kDtypes = {{
    {Dtype::F64, 8, true, "F64", "DoubleStorage"},
    {Dtype::F32, 4, true, "F32", "FloatStorage"},
    {Dtype::F16, 2, true, "F16", "HalfStorage"},
    {Dtype::BF16, 2, true, "BF16", "BFloat16Storage"},
    {Dtype::I64, 8, false, "I64", "LongStorage"},
    {Dtype::I32, 4, false, "I32", "IntStorage"},
    {Dtype::I16, 2, false, "I16", "ShortStorage"},
    {Dtype::I8, 1, false, "I8", "CharStorage"},
    {Dtype::U8, 1, false, "U8", "ByteStorage"},
    {Dtype::Bool, 1, false, "BOOL", "BoolStorage"},
}};

const DtypeRow& row_of(Dtype dtype) {
  for (const DtypeRow& row : kDtypes) {
    if (row.dtype == dtype) return row;
  }
  throw InternalError("an element type is missing in the table of element types");
}

template <typename Match>
std::optional<Dtype> find_dtype(Match match) {
  for (const DtypeRow& row : kDtypes) {
    if (match(row)) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace

std::size_t element_bytes(Dtype dtype) {
  return row_of(dtype).bytes;
}
bool is_floating(Dtype dtype) {
  return row_of(dtype).floating;
}
std::string_view safetensors_name(Dtype dtype) {
  return row_of(dtype).safetensors;
}
std::string_view storage_name(Dtype dtype) {
  return row_of(dtype).storage;
}

std::optional<Dtype> dtype_of_safetensors(std::string_view name) {
  return find_dtype([name](const DtypeRow& row) { return row.safetensors == name; });
}

std::optional<Dtype> dtype_of_storage(std::string_view name) {
  return find_dtype([name](const DtypeRow& row) { return row.storage == name; });
}

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor == 0) {
      empty = true;
    } else if (count > kMost / factor) {
      return std::nullopt;  // also where another dimension is 0: strides would overflow
    } else {
      count *= factor;
    }
  }
  return empty ? 0 : count;
}

std::optional<std::uint64_t> dense_bytes(Dtype dtype, std::span<const std::int64_t> shape) {
  const auto count = element_count(shape);
  const std::uint64_t bytes = element_bytes(dtype);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() / bytes) return std::nullopt;
  return *count * bytes;
}

std::string describe_shape(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace myxtts
