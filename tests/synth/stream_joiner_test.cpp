// SPDX-License-Identifier: Apache-2.0
#include "synth/sound_seams.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/golden.h"

namespace myxtts::stream_joiner_test {
namespace {

std::span<const float> from(const at::Tensor& samples, std::int64_t first) {
  return {samples.const_data_ptr<float>() + first,
          static_cast<std::size_t>(samples.size(0) - first)};
}

TEST(StreamJoiner, PiecesAreThePeers) {
  const auto golden = test::read_golden("synth/stream.safetensors");
  StreamJoiner joiner(64);
  for (int i = 0; i < 4; ++i) {
    const auto& decoding = golden.at(fmt::format("decoding.{}", i));
    const auto piece = joiner.add(from(decoding, joiner.first_wanted()), i == 3);
    EXPECT_LT(test::max_abs_difference(at::tensor(piece, at::kFloat),
                                       golden.at(fmt::format("piece.{}", i))),
              1e-6)
        << i;
  }
}

TEST(StreamJoiner, PiecesOfOneDecodingAreThatDecodingWhateverTheirLengths) {
  const auto whole = at::randn({1000});
  for (const std::int64_t step : {1, 7, 64, 65, 128, 500}) {
    StreamJoiner joiner(64);
    std::vector<float> heard;
    for (std::int64_t length = step;; length += step) {
      const bool is_last = length >= 1000;
      const auto decoding = whole.narrow(0, 0, std::min<std::int64_t>(length, 1000));
      const auto piece = joiner.add(from(decoding, joiner.first_wanted()), is_last);
      heard.insert(heard.end(), piece.begin(), piece.end());
      if (is_last) break;
    }
    EXPECT_LT(test::max_abs_difference(at::tensor(heard, at::kFloat), whole), 1e-6) << step;
  }
}

}  // namespace
}  // namespace myxtts::stream_joiner_test
