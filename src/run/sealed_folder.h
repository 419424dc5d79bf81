// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace myxtts {

inline constexpr const char* kChecksums = "checksums.json";

// One whole checkpoint on disk.
struct Checkpoint {
  std::filesystem::path folder;
  std::int64_t step = 0;
  std::optional<double> validation_loss = {};
  bool is_damaged = false;                // its seal is missing or wrong; files are not looked into
  std::optional<double> sample_cer = {};  // that a recogniser heard in its samples, 0 to 1 and more
};

// Reads every file of the folder, writes checksums.json and brings all of it to the disk. Throws
// DataError.
void seal_folder(const Checkpoint& checkpoint);

// Adds what was heard in a checkpoint's samples to its checksums.json, as a whole or not at all.
// Throws DataError.
void note_sample_cer(const std::filesystem::path& folder, double sample_cer);

// What checksums.json says besides the checksums. Throws DataError when it is missing or not ours.
Checkpoint read_sealed_folder(const std::filesystem::path& folder);

// What is wrong with a sealed folder, e.g. "model.safetensors was changed"; empty: nothing. Reads
// every file.
std::string find_damage(const std::filesystem::path& folder);

// Gives the folder `staged` the name `target`. A folder that has that name changes places with it,
// so that there is no moment without one. Both on one disk. Throws DataError.
void put_folder(const std::filesystem::path& staged, const std::filesystem::path& target);

// The same for disks that cannot exchange two names, as NFS: there is a moment in which neither has
// it.
void put_folder_in_steps(const std::filesystem::path& staged, const std::filesystem::path& target);

}  // namespace myxtts
