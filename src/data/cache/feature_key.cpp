// SPDX-License-Identifier: Apache-2.0
#include "data/cache/feature_key.h"

#include <bit>

#include <fmt/format.h>

namespace myxtts {
namespace {

// Grows with every change of how sound becomes what is cached: mixing, resampling, rounding.
constexpr std::uint64_t kSoundVersion = 1;

}  // namespace

std::string FeatureKey::text() const {
  return fmt::format("{:016x}", value);
}

FeatureKeyMaker::FeatureKeyMaker(const MelConfig& mel) {
  add_number(kSoundVersion);
  add_number(static_cast<std::uint64_t>(mel.sample_rate));
  add_number(static_cast<std::uint64_t>(mel.fft_size));
  add_number(static_cast<std::uint64_t>(mel.window));
  add_number(static_cast<std::uint64_t>(mel.hop));
  add_number(static_cast<std::uint64_t>(mel.bands));
  add_number(std::bit_cast<std::uint64_t>(mel.low_hz));
  add_number(std::bit_cast<std::uint64_t>(mel.high_hz));
  add_number(static_cast<std::uint64_t>(mel.window_kind));
  add_number(mel.area_normalised ? 1 : 0);
}

void FeatureKeyMaker::add_tensor(std::string_view name, std::span<const std::int64_t> shape,
                                 std::span<const std::byte> bytes) {
  add_text(name);
  add_number(shape.size());
  for (const auto size : shape) add_number(static_cast<std::uint64_t>(size));
  add_number(bytes.size());
  sum_.add(bytes);
}

void FeatureKeyMaker::add_number(std::uint64_t number) {
  sum_.add(std::as_bytes(std::span(&number, 1)));
}

void FeatureKeyMaker::add_text(std::string_view text) {
  add_number(text.size());
  sum_.add(bytes_of(text));
}

}  // namespace myxtts
