// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "data/batch_plan.h"
#include "data/cache/feature_cache.h"
#include "data/clip_decoder.h"

namespace myxtts {

// One clip in plain host memory: its text as ids, and its sound either decoded or, where the cache
// has it, mapped from there.
struct LoadedClip {
  ClipNumber number = 0;
  std::uint32_t repeat = 0;  // PlannedBatch::repeats
  std::vector<std::int64_t> text;
  std::variant<DecodedClip, CachedClip> sound;

  bool is_cached() const { return std::holds_alternative<CachedClip>(sound); }

  std::span<const std::int16_t> samples() const {
    if (const auto* cached = std::get_if<CachedClip>(&sound)) return cached->samples;
    return std::get<DecodedClip>(sound).samples;
  }
};

// A clip that is there, or why it is not.
using ClipResult = std::variant<LoadedClip, Skipped>;

// A batch as the decoders leave it.
struct DecodedBatch {
  std::int64_t number = -1;
  PlannedBatch planned;
  std::vector<ClipResult> clips;  // in the order of planned.clips
};

}  // namespace myxtts
