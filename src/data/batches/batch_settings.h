// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace myxtts {

// What batches depend on besides the clips: nothing else, neither threads nor devices nor timing.
struct BatchSettings {
  std::int64_t batch_size = 1;                    // clips on one rank
  std::optional<std::int64_t> batch_tokens = {};  // a budget of tokens in place of a clip count
  std::int64_t most_token_counts = 8;
  std::int64_t least_tokens = 0;  // of every token count, however few the batches have
  bool static_shapes = true;      // pad the total to one of the token counts
  bool shuffle = true;            // false: clips in their order, for validation
  std::uint64_t seed = 0;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

}  // namespace myxtts
