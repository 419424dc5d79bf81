// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace myxtts {

// What tells whether a file changed since it was read last.
struct FileState {
  std::uint64_t inode = 0;  // 0: it is not there
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;

  static FileState of(const std::filesystem::path& path);
  bool is_there() const { return inode != 0; }
  double time() const { return static_cast<double>(changed_ns) / 1e9; }  // since 1970
  friend bool operator==(const FileState&, const FileState&) = default;
};

// The files of a run may be anybody's, and somebody may be writing or removing them: reading ends
// in nothing where it does not work. Devices and pipes are not read.

// At most `limit` bytes from `from` on.
std::optional<std::string> read_part(const std::filesystem::path& path, std::uint64_t from,
                                     std::size_t limit);

// An object of JSON; nothing: not there, or none.
std::optional<nlohmann::json> read_object(const std::filesystem::path& path);

// A member of an object, or the fallback where it is missing or of another type.
std::optional<double> number_in(const nlohmann::json& object, std::string_view key);
std::optional<std::int64_t> whole_in(const nlohmann::json& object, std::string_view key);
std::string text_in(const nlohmann::json& object, std::string_view key);
nlohmann::json json_of(std::optional<double> number);  // null: none, or not finite

// Whether the path, links followed, lies in the folder.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace myxtts
