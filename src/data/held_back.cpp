// SPDX-License-Identifier: Apache-2.0
#include "data/held_back.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "data/batches/sound_window.h"

namespace myxtts {
namespace {

// There is nobody to be told apart from one speaker.
constexpr std::size_t kFewestTrained = 2;

std::uint64_t draw_of(std::string_view name) {
  FastChecksum checksum;
  checksum.add(bytes_of(name));
  return checksum.value();
}

using Names = std::vector<std::string_view>;

// Those to hold back of names without repetition, so that at least `left` are left.
std::set<std::string_view> chosen_of(Names names, double share, std::size_t left) {
  if (names.size() <= left) return {};
  const auto met = static_cast<std::size_t>(
      std::ranges::count_if(names, [share](auto name) { return is_held_back(name, share); }));
  const std::size_t most = names.size() - left;
  const std::size_t least = std::clamp<std::size_t>(names.size() / 10, 1, kLeastHeldBack);
  const auto count = static_cast<std::ptrdiff_t>(std::clamp(met, std::min(least, most), most));
  std::ranges::nth_element(names, names.begin() + count, {},
                           [](auto name) { return std::pair(draw_of(name), name); });
  return {names.begin(), names.begin() + count};
}

// The speaker of each clip, or its id.
Names names_of_clips(const ClipIndex& index, bool of_speakers) {
  Names names;
  for (std::size_t i = 0; i < index.size(); ++i) {
    names.push_back(of_speakers ? index.clip(i).speaker : index.id(i));
  }
  return names;
}

Names without_repetition(const Names& names) {
  const std::set<std::string_view> each(names.begin(), names.end());
  return {each.begin(), each.end()};
}

}  // namespace

HoldBack hold_back_of(ModelPart part) {
  return windows_of(part).with_speakers ? HoldBack::Speakers : HoldBack::Clips;
}

bool is_held_back(std::string_view id, double share) {
  // 53 bits: what a double compares exactly.
  return static_cast<double>(draw_of(id) >> 11U) < share * 0x1.0p53;
}

std::vector<bool> clips_held_back(const ClipIndex& index, double share, HoldBack rule) {
  std::vector<bool> held_back(index.size(), share >= 1);
  if (share <= 0 || share >= 1) return held_back;
  Names names = names_of_clips(index, rule == HoldBack::Speakers);
  Names each = rule == HoldBack::Speakers ? without_repetition(names) : names;
  if (rule == HoldBack::Speakers && each.size() <= kFewestTrained) {
    return clips_held_back(index, share, HoldBack::Clips);
  }
  const bool by_share = rule == HoldBack::Share;
  const std::size_t left = rule == HoldBack::Speakers ? kFewestTrained : 1;
  const auto chosen =
      by_share ? std::set<std::string_view>{} : chosen_of(std::move(each), share, left);
  for (std::size_t i = 0; i < names.size(); ++i) {
    held_back[i] = by_share ? is_held_back(names[i], share) : chosen.contains(names[i]);
  }
  return held_back;
}

}  // namespace myxtts
