// SPDX-License-Identifier: Apache-2.0
#include "weights/float_conversion.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace myxtts {
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
