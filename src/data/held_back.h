// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "config/model_part.h"
#include "data/index/clip_index.h"

namespace myxtts {

// Which clips of a corpus without a validation part of its own are held back to measure on.
enum class HoldBack {
  Share,     // those that the share meets: of a small corpus perhaps none, perhaps all
  Clips,     // the same, but a tenth of the clips up to kLeastHeldBack at the least; never all
  Speakers,  // the same of speakers, with all their clips; of fewer than three speakers, clips
};

// That of a run of this part: a speaker encoder is measured on voices that it never heard.
HoldBack hold_back_of(ModelPart part);

// So many are held back wherever they are no more than a tenth; one in every smaller corpus of two.
inline constexpr std::size_t kLeastHeldBack = 8;

// Whether a share of clips meets this one: a function of its id and the share alone, so that clips
// that are added or removed move no other.
bool is_held_back(std::string_view id, double share);

// Of each clip whether it is held back; a share of 1 is all of them. Where the share meets too few
// or too many, those are taken whose names' checksums are the lowest. The order of clips decides
// nothing.
std::vector<bool> clips_held_back(const ClipIndex& index, double share, HoldBack rule);

}  // namespace myxtts
