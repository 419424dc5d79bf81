// SPDX-License-Identifier: Apache-2.0
#include "run/sealed_folder.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "config/json.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kLargestFile = 1 << 20;  // of checksums.json
constexpr std::size_t kPiece = 1 << 20;

// An open file or folder.
class Descriptor {
 public:
  explicit Descriptor(const fs::path& path)
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) refuse("opened");
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(file_); }

  // `after` is given how many bytes were read, piece by piece.
  std::string checksum(const std::function<void(std::size_t)>& after = {}) const {
    FastChecksum sum;
    std::vector<std::byte> piece(kPiece);
    while (const auto count = read(piece)) {
      sum.add({piece.data(), count});
      if (after) after(count);
    }
    return fmt::format("{:016x}", sum.value());
  }

  void bring_to_disk() const {
    if (::fsync(file_) != 0) refuse("brought to the disk");
  }

 private:
  std::size_t read(std::vector<std::byte>& piece) const {
    for (;;) {
      const ssize_t count = ::read(file_, piece.data(), piece.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) refuse("read");
    }
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw DataError(fmt::format("{} cannot be {}: {}.", path_.string(), what,
                                std::generic_category().message(errno)));
  }

  fs::path path_;
  int file_;
};

// Over everything else in checksums.json, so that a changed digit of it is seen too.
std::string seal_of(const Json& json) {
  FastChecksum sum;
  sum.add(bytes_of(json.dump(2)));
  return fmt::format("{:016x}", sum.value());
}

bool is_ours(const Json& json) {
  return json.is_object() && json.contains("version") && json["version"] == kVersion &&
         json.contains("files") && json["files"].is_object() && json.contains("step") &&
         json["step"].is_number_unsigned() && json.contains("seal");
}

Json read_checksums(const fs::path& folder) {
  const std::string text = read_text_file(folder / kChecksums, "list of checksums", kLargestFile);
  auto json = parse_shallow_json<Json>(text);
  if (!is_ours(json)) {
    throw DataError(
        fmt::format("{} is not a list of checksums of ours.", (folder / kChecksums).string()));
  }
  const Json seal = json["seal"];
  json.erase("seal");
  if (seal != seal_of(json)) {
    throw DataError(fmt::format("{} was changed.", (folder / kChecksums).string()));
  }
  return json;
}

std::string damage_of(const fs::path& file, const Json& expected, Progress& progress) {
  const std::string name = file.filename().string();
  if (!expected.is_object() || !expected.contains("bytes") || !expected.contains("xxh64")) {
    return fmt::format("{} has no checksum of {}", kChecksums, name);
  }
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error) return fmt::format("{} is missing", name);
  if (expected["bytes"] != bytes) {
    return fmt::format("{} has {} bytes in place of {}", name, bytes, expected["bytes"].dump());
  }
  const auto advance = [&progress](std::size_t count) { progress.advance(count); };
  if (expected["xxh64"] != Descriptor(file).checksum(advance)) {
    return fmt::format("{} was changed", name);
  }
  return {};
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code error;
    if (const auto size = entry.file_size(error); !error) bytes += size;
  }
  return bytes;
}

}  // namespace

void seal_folder(const Checkpoint& checkpoint) {
  const fs::path& folder = checkpoint.folder;
  Json json{{"version", kVersion}, {"step", checkpoint.step}};
  if (checkpoint.validation_loss) json["validation_loss"] = *checkpoint.validation_loss;
  std::map<std::string, Json> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const Descriptor file(entry.path());
    files[entry.path().filename().string()] = {{"bytes", entry.file_size()},
                                               {"xxh64", file.checksum()}};
    file.bring_to_disk();
  }
  json["files"] = files;
  json["seal"] = seal_of(json);
  write_file_atomically(folder / kChecksums, bytes_of(json.dump(2) + "\n"));
  bring_folder_to_disk(folder);
}

void note_sample_cer(const fs::path& folder, double sample_cer) {
  Json json = read_checksums(folder);
  json["sample_cer"] = sample_cer;
  json["seal"] = seal_of(json);
  write_file_atomically(folder / kChecksums, bytes_of(json.dump(2) + "\n"));
}

Checkpoint read_sealed_folder(const fs::path& folder) {
  const auto json = read_checksums(folder);
  Checkpoint checkpoint{.folder = folder, .step = json["step"].get<std::int64_t>()};
  if (const auto loss = json.find("validation_loss"); loss != json.end() && loss->is_number()) {
    checkpoint.validation_loss = loss->get<double>();
  }
  if (const auto cer = json.find("sample_cer"); cer != json.end() && cer->is_number()) {
    checkpoint.sample_cer = cer->get<double>();
  }
  return checkpoint;
}

std::string find_damage(const fs::path& folder) {
  try {
    const auto json = read_checksums(folder);
    Progress progress({.title = fmt::format("Checking {}", folder.filename().string()),
                       .total = bytes_in(folder),
                       .unit = ProgressOptions::Unit::Bytes});
    for (const auto& [name, expected] : json["files"].items()) {
      const std::string damage = damage_of(folder / fs::path(name).filename(), expected, progress);
      if (!damage.empty()) return damage;
    }
  } catch (const DataError& error) {
    return std::string(error.what(), std::string_view(error.what()).find_last_not_of('.') + 1);
  } catch (const fs::filesystem_error& error) {
    return error.what();
  }
  return {};
}

namespace {

void rename_or_refuse(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  throw DataError(
      fmt::format("The folder {} cannot be put in place: {}.", to.string(), error.message()));
}

}  // namespace

void put_folder(const fs::path& staged, const fs::path& target) {
  const unsigned flags = fs::exists(target) ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, target.c_str(), flags) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
    throw DataError(fmt::format("The folder {} cannot be put in place: {}.", target.string(),
                                std::generic_category().message(errno)));
  }
  put_folder_in_steps(staged, target);
}

void put_folder_in_steps(const fs::path& staged, const fs::path& target) {
  const fs::path aside = staged.string() + "-old";
  const bool replaces = fs::exists(target);
  if (replaces) rename_or_refuse(target, aside);
  rename_or_refuse(staged, target);
  if (replaces) rename_or_refuse(aside, staged);
}

}  // namespace myxtts
