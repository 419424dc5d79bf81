// SPDX-License-Identifier: Apache-2.0
#include "watch/file_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "base/files.h"
#include "config/json.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargestObject = 4'000'000;  // bytes

}  // namespace

FileState FileState::of(const std::filesystem::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return {};
  return {.inode = facts.st_ino,
          .size = facts.st_size,
          .changed_ns = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec};
}

std::optional<std::string> read_part(const std::filesystem::path& path, std::uint64_t from,
                                     std::size_t limit) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  std::string bytes(std::min<std::uint64_t>(limit, size - std::min(size, from)), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(file.get(), bytes.data() + done, bytes.size() - done,
                                  static_cast<off_t>(from + done));
    if (count <= 0) break;  // it became shorter
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

std::optional<nlohmann::json> read_object(const std::filesystem::path& path) {
  const auto text = read_part(path, 0, kLargestObject);
  if (!text) return {};
  auto json = parse_shallow_json<nlohmann::json>(*text);
  if (!json.is_object()) return {};
  return json;
}

std::optional<double> number_in(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

// A number beyond what a double counts exactly is no count of anything here.
std::optional<std::int64_t> whole_in(const nlohmann::json& object, std::string_view key) {
  constexpr double kMost = 9e15;
  const auto number = number_in(object, key);
  if (!number || !(std::abs(*number) <= kMost)) return {};
  return static_cast<std::int64_t>(*number);
}

std::string text_in(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

nlohmann::json json_of(std::optional<double> number) {
  if (!number || !std::isfinite(*number)) return nullptr;
  return *number;
}

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(path, failed);
  if (failed) return false;
  const auto base = std::filesystem::canonical(folder, failed);
  if (failed) return false;
  const auto [end, rest] = std::ranges::mismatch(base, real);
  return end == base.end();
}

}  // namespace myxtts
