// SPDX-License-Identifier: Apache-2.0
#include "device/control_group.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace myxtts {
namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> to_number(const std::string& text) {
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc{}) return std::nullopt;  // also "max"
  return number;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  return to_number(first_line(file));
}

// This process's place in the hierarchy that has `controller`: "" is version 2's single one.
std::string group_path(const fs::path& root, const std::string& controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // hierarchy-id ":" comma-separated controllers ":" path
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + controller + ",") != std::string::npos) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

// The folders from this process's group up to the mount. Inside a container the path in
// /proc/self/cgroup may be the host's: folders that are not there are passed over.
std::vector<fs::path> group_folders(const fs::path& root, const std::string& controller) {
  const fs::path mount = root / "sys/fs/cgroup" / controller;
  std::vector<fs::path> folders;
  fs::path relative = fs::path(group_path(root, controller)).relative_path();
  for (; !relative.empty(); relative = relative.parent_path()) {
    if (fs::is_directory(mount / relative)) folders.push_back(mount / relative);
  }
  folders.push_back(mount);
  return folders;
}

std::optional<double> quota_v2(const fs::path& folder) {
  std::istringstream words(first_line(folder / "cpu.max"));
  std::string quota;
  std::string period;
  words >> quota >> period;
  const auto allowed = to_number(quota);
  const auto of = to_number(period);
  if (!allowed || !of || *of <= 0) return std::nullopt;
  return static_cast<double>(*allowed) / static_cast<double>(*of);
}

std::optional<double> quota_v1(const fs::path& folder) {
  const auto allowed = number_in(folder / "cpu.cfs_quota_us");
  const auto of = number_in(folder / "cpu.cfs_period_us");
  if (!allowed || !of || *allowed <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*allowed) / static_cast<double>(*of);
}

struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* cache;  // key in memory.stat
};

std::optional<MemoryLimit> limit_in(const fs::path& folder, const MemoryFiles& files) {
  const auto limit = number_in(folder / files.limit);
  // Version 1 says "no limit" with a number near the largest there is.
  if (!limit || *limit > (std::int64_t{1} << 60)) return std::nullopt;
  const auto used = number_in(folder / files.used).value_or(0);
  const auto cache = keyed_number(folder / "memory.stat", files.cache).value_or(0);
  return MemoryLimit{*limit, std::max<std::int64_t>(0, used - cache)};
}

}  // namespace

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::int64_t> keyed_number(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    words >> name >> value;
    if (name == key || name == key + ":") return to_number(value);
  }
  return std::nullopt;
}

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> tightest;
  const auto consider = [&tightest](std::optional<double> quota) {
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  };
  for (const auto& folder : group_folders(root, "")) consider(quota_v2(folder));
  for (const auto& folder : group_folders(root, "cpu")) consider(quota_v1(folder));
  return tightest;
}

std::optional<MemoryLimit> memory_limit(const fs::path& root) {
  std::optional<MemoryLimit> tightest;
  const auto room = [](const MemoryLimit& limit) { return limit.limit_bytes - limit.used_bytes; };
  const auto consider = [&](std::optional<MemoryLimit> limit) {
    if (limit && (!tightest || room(*limit) < room(*tightest))) tightest = limit;
  };
  const MemoryFiles v2{"memory.max", "memory.current", "inactive_file"};
  const MemoryFiles v1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
  for (const auto& folder : group_folders(root, "")) consider(limit_in(folder, v2));
  for (const auto& folder : group_folders(root, "memory")) consider(limit_in(folder, v1));
  return tightest;
}

}  // namespace myxtts
