// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// What a person said of a clip on the page.
struct Correction {
  std::string clip = {};                 // its name, without .wav
  std::optional<std::string> text = {};  // nothing: as it was
  std::string was = {};                  // the text that it replaces, where there is one
  std::optional<bool> accepted = {};     // false: left out; nothing: no word on it
};

// What clips.html saves as corrections.json:
//
//   {"format": "myxtts-corrections", "version": 1,
//    "clips": [{"clip": "a-0001", "was": "teh", "text": "the", "accepted": true}]}
//
// Each clip at most once. Throws DataError for anything else; `subject` opens the message.
std::vector<Correction> parse_corrections(std::string_view json, const std::string& subject);
std::vector<Correction> read_corrections(const std::filesystem::path& file);

// The reverse.
std::string to_json(const std::vector<Correction>& corrections);

// What `newer` says of a clip counts, and what only `older` says stays. By the clips' names.
std::vector<Correction> merged(const std::vector<Correction>& older,
                               const std::vector<Correction>& newer);

}  // namespace myxtts
