// SPDX-License-Identifier: Apache-2.0
#include "data/cache/feature_key.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::test::feature_key_test {
namespace {

FeatureKey key_of(const MelConfig& mel, const std::vector<float>& weights,
                  const std::vector<std::int64_t>& shape = {2, 2},
                  std::string_view name = "encoder.0.0.weight") {
  FeatureKeyMaker maker(mel);
  maker.add_tensor(name, shape, std::as_bytes(std::span(weights)));
  return maker.key();
}

TEST(FeatureKey, EveryMelSettingCounts) {
  const std::vector<float> weights{1, 2, 3, 4};
  const std::vector<MelConfig> settings{{},
                                        {.sample_rate = 22051},
                                        {.fft_size = 2048},
                                        {.window = 1000},
                                        {.hop = 255},
                                        {.bands = 81},
                                        {.low_hz = 1.0},
                                        {.high_hz = 8001.0},
                                        {.window_kind = WindowKind::Hamming},
                                        {.area_normalised = false}};
  std::set<std::uint64_t> keys;
  for (const auto& mel : settings) keys.insert(key_of(mel, weights).value);
  EXPECT_EQ(keys.size(), settings.size());
  static_assert(sizeof(MelConfig) == 64, "a new mel setting must be part of FeatureKeyMaker");
}

TEST(FeatureKey, ContentNameAndShapeOfATensorCountAndNothingElse) {
  const MelConfig mel;
  const auto key = key_of(mel, {1, 2, 3, 4});
  EXPECT_EQ(key, key_of(mel, {1, 2, 3, 4}));
  EXPECT_NE(key, key_of(mel, {1, 2, 3, 4.0000005F}));
  EXPECT_NE(key, key_of(mel, {1, 2, 3, 4}, {4}));
  EXPECT_NE(key, key_of(mel, {1, 2, 3, 4}, {2, 2}, "encoder.1.0.weight"));
}

TEST(FeatureKey, IsWrittenAsSixteenDigits) {
  EXPECT_EQ(FeatureKey{0xab}.text(), "00000000000000ab");
}

}  // namespace
}  // namespace myxtts::test::feature_key_test
