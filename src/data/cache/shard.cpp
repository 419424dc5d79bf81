// SPDX-License-Identifier: Apache-2.0
#include "data/cache/shard.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

// Far above any clip that can be decoded; keeps sums of counts from overflowing.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 32;

template <typename Header>
std::uint64_t checksum_of(const Header& header) {
  FastChecksum sum;
  sum.add(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum)));
  return sum.value();
}

}  // namespace

ShardHeader make_shard_header(FeatureKey key, std::uint64_t capacity) {
  ShardHeader header{.key = key.value, .capacity = capacity};
  header.checksum = checksum_of(header);
  return header;
}

ClipHeader make_clip_header(std::uint64_t identity, std::span<const std::int16_t> samples,
                            std::span<const std::uint16_t> codes) {
  FastChecksum payload;
  payload.add(std::as_bytes(samples));
  payload.add(std::as_bytes(codes));
  ClipHeader header{.identity = identity,
                    .samples = samples.size(),
                    .codes = codes.size(),
                    .payload_checksum = payload.value()};
  header.checksum = checksum_of(header);
  return header;
}

bool is_intact(const ShardHeader& header) {
  return header.magic == ShardHeader{}.magic && header.version == kShardVersion &&
         header.checksum == checksum_of(header);
}

bool is_intact(const ClipHeader& header) {
  return header.magic == ClipHeader{}.magic && header.samples < kMostValues &&
         header.codes < kMostValues && header.checksum == checksum_of(header);
}

bool is_intact(const ClipHeader& header, std::span<const std::byte> payload) {
  FastChecksum sum;
  sum.add(payload);
  return payload.size() == header.payload_bytes() && sum.value() == header.payload_checksum;
}

namespace {

constexpr std::uint64_t kSamplesPerCode = 1024;

// The nearest folder above that exists: the one that the missing ones will be made in.
std::filesystem::path existing_part(const std::filesystem::path& folder) {
  std::error_code error;
  auto place = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
  }
  return place;
}

}  // namespace

std::uint64_t cached_bytes(std::int64_t samples) {
  const auto count = static_cast<std::uint64_t>(samples);
  return clip_bytes(count, (count + kSamplesPerCode - 1) / kSamplesPerCode);
}

std::string sentence_of_room(const std::filesystem::path& folder, std::uint64_t needed,
                             std::uint64_t available) {
  return fmt::format(
      "The feature cache in {} will take {}; {} are free{}.", folder.string(), human_size(needed),
      human_size(available),
      needed <= available ? "" : ": what does not fit is computed again every epoch");
}

std::uint64_t free_room(const std::filesystem::path& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(existing_part(folder), error);
  if (error) {
    throw DataError(fmt::format("The disk of {} cannot be asked for its free space: {}.",
                                folder.string(), error.message()));
  }
  return space.available;
}

namespace {

struct IndexHeader {
  std::array<char, 8> magic = {'M', 'Y', 'X', 'T', 'F', 'I', 'D', 'X'};
  std::uint64_t version = 1;
  std::uint64_t key = 0;
  std::uint64_t end = 0;
  std::uint64_t count = 0;
  std::uint64_t checksum = 0;  // of the members before it and of all places
};
static_assert(sizeof(IndexHeader) == 48);
static_assert(sizeof(ClipPlace) == 16);

std::uint64_t checksum_of(const IndexHeader& header, std::span<const ClipPlace> places) {
  FastChecksum sum;
  sum.add(std::as_bytes(std::span(&header, 1)).first(offsetof(IndexHeader, checksum)));
  sum.add(std::as_bytes(places));
  return sum.value();
}

std::filesystem::path index_path(const std::filesystem::path& shard) {
  auto path = shard;
  return path.replace_extension(".index");
}

// Throws DataError when the disk does not take it.
void write_shard_index(const std::filesystem::path& path, FeatureKey key,
                       std::span<const ClipPlace> places, std::uint64_t end) {
  IndexHeader header{.key = key.value, .end = end, .count = places.size()};
  header.checksum = checksum_of(header, places);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(std::as_bytes(places));
  file.commit();
}

// Reads where the clips of a shard stand, and gives up to which byte of it. Nothing when there is
// no index, when it is damaged or when it is of another key.
std::optional<std::uint64_t> read_shard_index(const std::filesystem::path& path, FeatureKey key,
                                              std::vector<ClipPlace>& places) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  IndexHeader header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return std::nullopt;
  if (header.magic != IndexHeader{}.magic || header.version != 1 || header.key != key.value ||
      header.count != (size - sizeof(header)) / sizeof(ClipPlace)) {
    return std::nullopt;
  }
  places.resize(header.count);
  const auto bytes = static_cast<std::streamsize>(header.count * sizeof(ClipPlace));
  if (!file.read(reinterpret_cast<char*>(places.data()), bytes) ||
      header.checksum != checksum_of(header, places)) {
    return std::nullopt;
  }
  return header.end;
}

std::string reason(int code) {
  return std::generic_category().message(code);
}

// As many bytes of the file as there are, up to `bytes.size()`.
std::size_t read_at(int file, std::span<std::byte> bytes, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

template <typename Header>
bool read_header(int file, Header& header, std::uint64_t offset) {
  return read_at(file, std::as_writable_bytes(std::span(&header, 1)), offset) == sizeof(Header);
}

// 0, or the errno of the write that failed.
int write_at(int file, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

}  // namespace

Shard::Shard(std::filesystem::path path, FeatureKey key, int file)
    : path_(std::move(path)), key_(key), file_(file) {}

Shard::~Shard() {
  if (start_ != nullptr) ::munmap(const_cast<std::byte*>(start_), capacity_);
  ::close(file_);
}

std::unique_ptr<Shard> Shard::create(const std::filesystem::path& path, FeatureKey key,
                                     std::uint64_t capacity) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    if (errno == EEXIST) return nullptr;
    throw DataError(fmt::format("{} cannot be made: {}.", path.string(), reason(errno)));
  }
  std::unique_ptr<Shard> shard(new Shard(path, key, file));
  if (!shard->lock()) {
    // Between its making and here another process may have found the empty file and owns it then.
    if (errno == EWOULDBLOCK) return nullptr;
    const int code = errno;
    ::unlink(path.c_str());
    throw DataError(fmt::format(
        "The files of {} cannot be locked: {}. Give a folder on another disk with --cache-dir.",
        path.parent_path().string(), reason(code)));
  }
  // That of a shard which was deleted would be taken for its own.
  ::unlink(index_path(path).c_str());
  const auto header = make_shard_header(key, capacity);
  if (const int code = write_at(file, std::as_bytes(std::span(&header, 1)), 0); code != 0) {
    ::unlink(path.c_str());
    throw DataError(fmt::format("{} cannot be written: {}.", path.string(), reason(code)));
  }
  shard->capacity_ = capacity;
  shard->index_was_read_ = true;
  if (!shard->map()) {
    throw DataError(
        fmt::format("{} cannot be mapped into memory: {}.", path.string(), reason(errno)));
  }
  return shard;
}

std::unique_ptr<Shard> Shard::open(const std::filesystem::path& path, FeatureKey key) {
  int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const bool writable = file >= 0;
  if (!writable) file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    log_warning("cache", "{} cannot be opened ({}); its clips count as missing.", path.string(),
                reason(errno));
    return nullptr;
  }
  std::unique_ptr<Shard> shard(new Shard(path, key, file));
  shard->writable_ = writable;
  ShardHeader header;
  if (!read_header(file, header, 0)) return nullptr;  // another process is just making it
  if (!is_intact(header) || header.key != key.value) {
    log_warning("cache", "{} is {}; its clips count as missing. It may be deleted.", path.string(),
                is_intact(header) ? "of another model" : "damaged at its start");
    return nullptr;
  }
  shard->capacity_ = header.capacity;
  if (!shard->map()) {
    log_warning("cache", "{} cannot be mapped into memory ({}); its clips count as missing.",
                path.string(), reason(errno));
    return nullptr;
  }
  return shard;
}

bool Shard::map() {
  void* start = ::mmap(nullptr, capacity_, PROT_READ, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (start == MAP_FAILED) return false;
  start_ = static_cast<const std::byte*>(start);
  end_ = sizeof(ShardHeader);
  return true;
}

std::uint64_t Shard::file_size() const {
  struct stat status = {};
  if (::fstat(file_, &status) != 0) return 0;
  return std::min(static_cast<std::uint64_t>(status.st_size), capacity_);
}

std::optional<ClipHeader> Shard::header_at(std::uint64_t offset, std::uint64_t size) const {
  ClipHeader header;
  if (!read_header(file_, header, offset) || !is_intact(header)) return std::nullopt;
  if (offset + sizeof(header) + header.payload_bytes() > size) return std::nullopt;
  return header;
}

std::optional<std::uint64_t> Shard::next_header(std::uint64_t after, std::uint64_t size) const {
  std::vector<std::byte> piece(std::size_t{1} << 20);
  const auto magic = ClipHeader{}.magic;
  for (auto start = after; start < size; start += piece.size()) {
    const auto bytes = read_at(file_, piece, start);
    for (std::size_t at = 0; at + magic.size() <= bytes; at += kShardAlignment) {
      const bool likely = std::memcmp(piece.data() + at, magic.data(), magic.size()) == 0;
      if (likely && header_at(start + at, size)) return start + at;
    }
  }
  return std::nullopt;
}

std::vector<ClipPlace> Shard::new_clips() {
  std::vector<ClipPlace> found;
  const auto size = file_size();
  if (!std::exchange(index_was_read_, true)) {
    const auto end = read_shard_index(index_path(path_), key_, found);
    if (end && *end <= size) {
      end_ = *end;
    } else {
      found.clear();
    }
  }
  // Read, not mapped: a writer may cut off a torn tail while we look at it.
  for (auto offset = shard_aligned(end_); offset + sizeof(ClipHeader) <= size;) {
    const auto header = header_at(offset, size);
    if (!header) {
      const auto next = next_header(offset + kShardAlignment, size);
      if (!next) break;  // a torn tail, or a clip that is being written
      log_warning("cache", "{} is damaged at byte {}; the clip there counts as missing.",
                  path_.string(), offset);
      offset = *next;
      continue;
    }
    found.push_back({header->identity, offset});
    end_ = offset + sizeof(ClipHeader) + header->payload_bytes();
    offset = shard_aligned(end_);
  }
  return found;
}

std::optional<CachedClip> Shard::read(ClipPlace place) const {
  const auto size = file_size();
  const auto header = header_at(place.offset, size);
  if (!header || header->identity != place.identity) return std::nullopt;
  const std::span payload(start_ + place.offset + sizeof(ClipHeader), header->payload_bytes());
  if (!is_intact(*header, payload)) return std::nullopt;
  const auto* samples = reinterpret_cast<const std::int16_t*>(payload.data());
  const auto* codes = reinterpret_cast<const std::uint16_t*>(samples + header->samples);
  return CachedClip{.samples = {samples, header->samples}, .codes = {codes, header->codes}};
}

bool Shard::lock() {
  if (!writable_) return false;
  int failed = ::flock(file_, LOCK_EX | LOCK_NB);
  while (failed != 0 && errno == EINTR) failed = ::flock(file_, LOCK_EX | LOCK_NB);
  return failed == 0;
}

void Shard::unlock() {
  ::flock(file_, LOCK_UN);
}

std::uint64_t Shard::cut_torn_tail() {
  const auto size = file_size();
  if (size <= end_ || ::ftruncate(file_, static_cast<off_t>(end_)) != 0) return 0;
  return size - end_;
}

ClipPlace Shard::append(std::uint64_t identity, std::span<const std::int16_t> samples,
                        std::span<const std::uint16_t> codes) {
  const auto header = make_clip_header(identity, samples, codes);
  const auto offset = shard_aligned(end_);
  auto at = offset;
  for (const auto part :
       {std::as_bytes(std::span(&header, 1)), std::as_bytes(samples), std::as_bytes(codes)}) {
    if (const int code = write_at(file_, part, at); code != 0) {
      cut_torn_tail();
      throw DataError(fmt::format("{} cannot be written: {}.", path_.string(), reason(code)));
    }
    at += part.size();
  }
  end_ = at;
  return {identity, offset};
}

void Shard::write_index(std::span<const ClipPlace> places) const {
  write_shard_index(index_path(path_), key_, places, end_);
}

}  // namespace myxtts
