// SPDX-License-Identifier: Apache-2.0
#include "data/cache/feature_cache.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "data/cache/shard.h"

namespace myxtts {
namespace {

// Where a clip stands in a cache of many shards. A million of them must stay small.
struct ClipEntry {
  ClipEntry(std::size_t number, ClipPlace place)
      : identity(place.identity),
        shard(static_cast<std::uint32_t>(number)),
        unit(static_cast<std::uint32_t>(place.offset / kShardAlignment)) {}

  std::uint64_t offset() const { return kShardAlignment * unit; }

  std::uint64_t identity;
  std::uint32_t shard;
  std::uint32_t unit;  // offset in units of the alignment: shards of up to 256 GB
};
static_assert(sizeof(ClipEntry) == 16);

// Finds clips by identity. The same identity may stand in several places: two processes wrote it,
// or the first copy was damaged. One thread at a time, except that any may look.
class ClipTable {
 public:
  void add(const ClipEntry& entry);                   // seen at once
  void add_many(std::span<const ClipEntry> entries);  // sorts: for many at a time

  // All places of a clip: those of earlier shards first, additions last.
  std::vector<ClipEntry> places(std::uint64_t identity) const;
  bool contains(std::uint64_t identity) const;

  // All clips of one shard, in the order of the file.
  std::vector<ClipEntry> of_shard(std::size_t shard) const;

  std::size_t size() const;  // different identities

 private:
  std::vector<ClipEntry> sorted_;
  std::unordered_multimap<std::uint64_t, ClipEntry> added_;  // since sorted_ was sorted
  std::size_t identities_ = 0;
};

bool stands_before(const ClipEntry& a, const ClipEntry& b) {
  return std::tie(a.identity, a.shard, a.unit) < std::tie(b.identity, b.shard, b.unit);
}

auto of_identity(const std::vector<ClipEntry>& sorted, std::uint64_t identity) {
  return std::ranges::equal_range(sorted, identity, {}, &ClipEntry::identity);
}

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

namespace fs = std::filesystem;

constexpr const char* kShardExtension = ".features";

fs::path make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw DataError(fmt::format(
        "The feature cache {} cannot be made: {}. Give another folder with --cache-dir.",
        folder.string(), error.message()));
  }
  return folder;
}

}  // namespace

struct FeatureCache::State {
  State(fs::path place, FeatureKey of, std::uint64_t shard_size)
      : folder(std::move(place)), key(of), shard_bytes(shard_size) {}

  // These need write_mutex.
  std::vector<fs::path> new_files() const;
  void open_new_shards();
  void learn_of(std::size_t number);
  void learn_all();
  Shard& shard_with_room(std::uint64_t bytes);
  bool lock_if_room(std::size_t number, std::uint64_t bytes);
  void create_shard(std::uint64_t bytes);
  void leave_shard();

  std::optional<CachedClip> read(std::uint64_t identity);
  void log_damaged(std::uint64_t identity, const ClipEntry& entry);

  const fs::path folder;
  const FeatureKey key;
  const std::uint64_t shard_bytes;

  // Guards what is appended: the shards' ends and the members down to the next mutex. Taken before
  // table_mutex where both are.
  std::mutex write_mutex;
  std::set<fs::path> seen;             // files that were looked into
  std::optional<std::size_t> writing;  // the shard that this process has locked
  bool accepts_more = true;

  // Guards where clips are: everything below. Shards are added, never removed.
  std::shared_mutex table_mutex;
  std::vector<std::unique_ptr<Shard>> shards;
  ClipTable table;
  std::unordered_set<std::uint64_t> damaged;  // identities that were logged
};

std::vector<fs::path> FeatureCache::State::new_files() const {
  std::vector<fs::path> files;
  std::error_code error;
  const fs::directory_iterator found(folder, error);
  if (error) {
    throw DataError(
        fmt::format("The feature cache {} cannot be read: {}.", folder.string(), error.message()));
  }
  for (const auto& file : found) {
    if (file.path().extension() != kShardExtension || seen.contains(file.path())) continue;
    // One without a whole header is just being made; one with an error is gone again.
    if (file.file_size(error) >= sizeof(ShardHeader) && !error) files.push_back(file.path());
  }
  std::ranges::sort(files);
  return files;
}

void FeatureCache::State::open_new_shards() {
  for (const auto& file : new_files()) {
    seen.insert(file);
    auto shard = Shard::open(file, key);
    if (!shard) continue;
    const std::unique_lock lock(table_mutex);
    shards.push_back(std::move(shard));
  }
}

// Puts what was appended to a shard since the last look into the table.
void FeatureCache::State::learn_of(std::size_t number) {
  std::vector<ClipEntry> entries;
  for (const auto& place : shards[number]->new_clips()) {
    entries.emplace_back(number, place);
  }
  const std::unique_lock lock(table_mutex);
  table.add_many(entries);
}

void FeatureCache::State::learn_all() {
  open_new_shards();
  for (std::size_t number = 0; number < shards.size(); ++number) {
    if (writing != number) learn_of(number);
  }
}

Shard& FeatureCache::State::shard_with_room(std::uint64_t bytes) {
  if (writing && !shards[*writing]->has_room_for(bytes)) leave_shard();
  for (std::size_t number = 0; !writing && number < shards.size(); ++number) {
    if (lock_if_room(number, bytes)) writing = number;
  }
  while (!writing) create_shard(bytes);
  return *shards[*writing];
}

bool FeatureCache::State::lock_if_room(std::size_t number, std::uint64_t bytes) {
  auto& shard = *shards[number];
  if (!shard.has_room_for(bytes) || !shard.lock()) return false;
  learn_of(number);  // its last writer may have gone on since we looked
  if (!shard.has_room_for(bytes)) {
    shard.unlock();
    return false;
  }
  if (const auto cut = shard.cut_torn_tail(); cut > 0) {
    log_info("cache", "{} ended in a torn clip, as after a kill; {} were cut off.",
             shard.path().string(), human_size(cut));
  }
  return true;
}

void FeatureCache::State::create_shard(std::uint64_t bytes) {
  const auto capacity = std::max(shard_bytes, sizeof(ShardHeader) + bytes);
  for (std::size_t number = shards.size(); !writing; ++number) {
    const auto path = folder / fmt::format("shard-{:05}{}", number, kShardExtension);
    auto shard = Shard::create(path, key, capacity);
    if (!shard) continue;  // another process has that name
    seen.insert(path);
    const std::unique_lock lock(table_mutex);
    shards.push_back(std::move(shard));
    writing = shards.size() - 1;
  }
}

void FeatureCache::State::leave_shard() {
  if (!writing) return;
  auto& shard = *shards[*writing];
  std::vector<ClipPlace> places;
  for (const auto& entry : table.of_shard(*writing)) {
    places.push_back({entry.identity, entry.offset()});
  }
  writing.reset();
  try {
    shard.write_index(places);
  } catch (const DataError& error) {
    // The clips are safe without it: the next reader goes from header to header.
    log_info("cache", "No index was written: {}", error.what());
  }
  shard.unlock();
}

std::optional<CachedClip> FeatureCache::State::read(std::uint64_t identity) {
  std::vector<ClipEntry> bad;
  std::optional<CachedClip> clip;
  {
    const std::shared_lock lock(table_mutex);
    for (const auto& entry : table.places(identity)) {
      clip = shards[entry.shard]->read({identity, entry.offset()});
      if (clip) break;
      bad.push_back(entry);
    }
  }
  for (const auto& entry : bad) log_damaged(identity, entry);
  return clip;
}

void FeatureCache::State::log_damaged(std::uint64_t identity, const ClipEntry& entry) {
  const std::unique_lock lock(table_mutex);
  if (!damaged.insert(identity).second) return;
  log_warning("cache", "{} is damaged at byte {}; the clip there is made again.",
              shards[entry.shard]->path().string(), entry.offset());
}

FeatureCache::FeatureCache(const fs::path& folder, FeatureKey key, std::uint64_t shard_bytes)
    : state_(std::make_unique<State>(make_folder(folder / ("features-" + key.text())), key,
                                     shard_bytes)) {
  const std::lock_guard lock(state_->write_mutex);
  state_->learn_all();
}

FeatureCache::~FeatureCache() {
  const std::lock_guard lock(state_->write_mutex);
  state_->leave_shard();
}

std::optional<CachedClip> FeatureCache::find(std::uint64_t identity) const {
  return state_->read(identity);
}

bool FeatureCache::contains(std::uint64_t identity) const {
  const std::shared_lock lock(state_->table_mutex);
  return state_->table.contains(identity);
}

bool FeatureCache::add(std::uint64_t identity, std::span<const std::int16_t> samples,
                       std::span<const std::uint16_t> codes) {
  const std::lock_guard lock(state_->write_mutex);
  if (state_->read(identity)) return true;  // another thread or process was faster
  if (!state_->accepts_more) return false;
  try {
    auto& shard = state_->shard_with_room(clip_bytes(samples.size(), codes.size()));
    const auto place = shard.append(identity, samples, codes);
    const std::unique_lock table_lock(state_->table_mutex);
    state_->table.add({*state_->writing, place});
    return true;
  } catch (const DataError& error) {
    state_->accepts_more = false;
    log_warning("cache", "{} No more clips are cached; everything else goes on.", error.what());
    return false;
  }
}

void FeatureCache::refresh() const {
  const std::lock_guard lock(state_->write_mutex);
  try {
    state_->learn_all();
  } catch (const DataError& error) {  // what is mapped stays good without its folder
    log_warning("cache", "{} What others add is not seen.", error.what());
  }
}

std::size_t FeatureCache::size() const {
  const std::shared_lock lock(state_->table_mutex);
  return state_->table.size();
}

std::uint64_t FeatureCache::bytes() const {
  const std::lock_guard lock(state_->write_mutex);
  std::uint64_t sum = 0;
  for (const auto& shard : state_->shards) sum += shard->end();
  return sum;
}

bool FeatureCache::accepts_more() const {
  const std::lock_guard lock(state_->write_mutex);
  return state_->accepts_more;
}

const fs::path& FeatureCache::folder() const {
  return state_->folder;
}

}  // namespace myxtts
