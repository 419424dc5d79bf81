// SPDX-License-Identifier: Apache-2.0
#include "weights/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
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

namespace {

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float from_fp16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {  // zero, or too small for an exponent of its own
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -small : small;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

// Element by element through memcpy: a file may hold them at odd addresses.
template <typename Stored, typename Convert>
void convert(std::span<const std::byte> from, std::vector<std::byte>& to, Convert to_float) {
  const std::size_t count = from.size() / sizeof(Stored);
  to.resize(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, from.data() + i * sizeof stored, sizeof stored);
    const float value = to_float(stored);
    std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace

TensorView as_fp32(const TensorView& view, std::vector<std::byte>& buffer) {
  if (view.dtype == Dtype::F32) return view;
  if (view.dtype == Dtype::F16) {
    convert<std::uint16_t>(view.bytes, buffer, from_fp16);
  } else if (view.dtype == Dtype::BF16) {
    convert<std::uint16_t>(view.bytes, buffer, from_bf16);
  } else {
    MYXTTS_CHECK(view.dtype == Dtype::F64, "{} is not a floating-point type",
                 safetensors_name(view.dtype));
    convert<double>(view.bytes, buffer, [](double value) { return static_cast<float>(value); });
  }
  return {Dtype::F32, view.shape, buffer};
}

}  // namespace myxtts
