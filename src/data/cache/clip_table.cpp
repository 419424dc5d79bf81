// SPDX-License-Identifier: Apache-2.0
#include "data/cache/clip_table.h"

#include <algorithm>
#include <tuple>

namespace myxtts {
namespace {

bool stands_before(const ClipEntry& a, const ClipEntry& b) {
  return std::tie(a.identity, a.shard, a.unit) < std::tie(b.identity, b.shard, b.unit);
}

auto of_identity(const std::vector<ClipEntry>& sorted, std::uint64_t identity) {
  return std::ranges::equal_range(sorted, identity, {}, &ClipEntry::identity);
}

}  // namespace

void ClipTable::add(const ClipEntry& entry) {
  if (!contains(entry.identity)) ++identities_;
  added_.emplace(entry.identity, entry);
}

void ClipTable::add_many(std::span<const ClipEntry> entries) {
  if (entries.empty()) return;
  for (const auto& [identity, entry] : added_) sorted_.push_back(entry);
  added_.clear();
  sorted_.insert(sorted_.end(), entries.begin(), entries.end());
  std::ranges::sort(sorted_, stands_before);
  identities_ = 0;
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    if (i == 0 || sorted_[i].identity != sorted_[i - 1].identity) ++identities_;
  }
}

std::vector<ClipEntry> ClipTable::places(std::uint64_t identity) const {
  const auto known = of_identity(sorted_, identity);
  std::vector<ClipEntry> found(known.begin(), known.end());
  const auto [first, last] = added_.equal_range(identity);
  for (auto at = first; at != last; ++at) found.push_back(at->second);
  return found;
}

bool ClipTable::contains(std::uint64_t identity) const {
  return added_.contains(identity) || !of_identity(sorted_, identity).empty();
}

std::vector<ClipEntry> ClipTable::of_shard(std::size_t shard) const {
  std::vector<ClipEntry> found;
  const auto take = [&](const ClipEntry& entry) {
    if (entry.shard == shard) found.push_back(entry);
  };
  for (const auto& entry : sorted_) take(entry);
  for (const auto& [identity, entry] : added_) take(entry);
  std::ranges::sort(found, {}, &ClipEntry::unit);
  return found;
}

std::size_t ClipTable::size() const {
  return identities_;
}

}  // namespace myxtts
