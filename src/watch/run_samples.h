// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace myxtts {

// RUN/samples as it is on the disk.

// The answer of /api/samples. `part` tells what a sound is: the copy of a decoder, or speech.
nlohmann::json samples_json(const std::filesystem::path& run, const std::string& id,
                            const std::string& part);

// How many sounds and pictures there are, and something that changes when one is added.
struct SampleCount {
  std::int64_t samples = 0;
  std::int64_t in_newest = 0;  // of them
  std::string mark = {};
  std::string newest = {};  // folder
  friend bool operator==(const SampleCount&, const SampleCount&) = default;
};
SampleCount count_samples(const std::filesystem::path& run);

// The file of a sample by what a request says; nothing: there is none, or it lies elsewhere.
std::optional<std::filesystem::path> sample_file(const std::filesystem::path& run,
                                                 const std::string& step, const std::string& file);

}  // namespace myxtts
