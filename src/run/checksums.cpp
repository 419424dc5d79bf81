// SPDX-License-Identifier: Apache-2.0
#include "run/checksums.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/paths.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

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

  std::string checksum() const {
    FastChecksum sum;
    std::vector<std::byte> piece(kPiece);
    while (const auto count = read(piece)) sum.add({piece.data(), count});
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

nlohmann::json read_checksums(const fs::path& folder) {
  const std::string text = read_text_file(folder / kChecksums, "list of checksums", kLargestFile);
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool is_ours = json.is_object() && json.contains("version") &&
                       json["version"] == kVersion && json.contains("files") &&
                       json["files"].is_object() && json.contains("step") &&
                       json["step"].is_number_integer();
  if (!is_ours) {
    throw DataError(
        fmt::format("{} is not a list of checksums of ours.", (folder / kChecksums).string()));
  }
  return json;
}

std::string damage_of(const fs::path& file, const nlohmann::json& expected) {
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
  if (expected["xxh64"] != Descriptor(file).checksum()) {
    return fmt::format("{} was changed", name);
  }
  return {};
}

}  // namespace

void seal_folder(const fs::path& folder, const FolderFacts& facts) {
  nlohmann::ordered_json json{{"version", kVersion}, {"step", facts.step}};
  if (facts.validation_loss) json["validation_loss"] = *facts.validation_loss;
  auto& files = json["files"] = nlohmann::ordered_json::object();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const Descriptor file(entry.path());
    files[entry.path().filename().string()] = {{"bytes", entry.file_size()},
                                               {"xxh64", file.checksum()}};
    file.bring_to_disk();
  }
  write_file_atomically(folder / kChecksums, bytes_of(json.dump(2) + "\n"));
  Descriptor(folder).bring_to_disk();
}

FolderFacts read_folder_facts(const fs::path& folder) {
  const auto json = read_checksums(folder);
  FolderFacts facts{.step = json["step"].get<std::int64_t>()};
  if (const auto loss = json.find("validation_loss"); loss != json.end() && loss->is_number()) {
    facts.validation_loss = loss->get<double>();
  }
  return facts;
}

std::string find_damage(const fs::path& folder) {
  try {
    const auto json = read_checksums(folder);
    for (const auto& [name, expected] : json["files"].items()) {
      const std::string damage = damage_of(folder / name, expected);
      if (!damage.empty()) return damage;
    }
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

}  // namespace myxtts
