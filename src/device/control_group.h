// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace myxtts {

// What the control groups (containers, SLURM, systemd) around this process allow, in version 1 and
// 2 of Linux's interface. A limit may stand at any folder on the way up; the tightest counts.

struct MemoryLimit {
  std::int64_t limit_bytes = 0;
  std::int64_t used_bytes = 0;  // without file cache that would be given up on demand
};

// Cores' worth of processor time; nothing: no limit.
std::optional<double> cpu_quota(const std::filesystem::path& root);

// The limit that leaves least room; nothing: no limit.
std::optional<MemoryLimit> memory_limit(const std::filesystem::path& root);

// The first line of a file; empty when it cannot be read.
std::string first_line(const std::filesystem::path& file);

// The number after `key` in a file of "key value" or "key: value" lines.
std::optional<std::int64_t> keyed_number(const std::filesystem::path& file, const std::string& key);

}  // namespace myxtts
