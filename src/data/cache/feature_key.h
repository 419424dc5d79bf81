// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "config/model.h"

namespace myxtts {

// What cached features depend on besides the clip itself.
struct FeatureKey {
  std::uint64_t value = 0;

  std::string text() const;  // 16 digits, for names of folders
  friend bool operator==(const FeatureKey&, const FeatureKey&) = default;
};

// Gathers a FeatureKey: the mel settings, then every tensor that codes are computed with, in one
// order. How sound is mixed, resampled and rounded counts as well, as a version of our own.
class FeatureKeyMaker {
 public:
  explicit FeatureKeyMaker(const MelConfig& mel);

  void add_tensor(std::string_view name, std::span<const std::int64_t> shape,
                  std::span<const std::byte> bytes);

  FeatureKey key() const { return {sum_.value()}; }

 private:
  void add_number(std::uint64_t number);
  void add_text(std::string_view text);

  FastChecksum sum_;
};

}  // namespace myxtts
