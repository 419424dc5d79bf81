// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "data/layouts/layout.h"

namespace myxtts {

// The manifests that lie in a corpus' folder, where the layout fixes no name.
struct FolderManifests {
  std::filesystem::path train = {};
  std::filesystem::path validation = {};
  bool is_ambiguous = false;  // several could be `train`
};

// Takes the files with one of the `endings` whose first line `fits`. A name with "val", "dev",
// "eval" or "test" as a word of it is no training manifest; of several others the one with "train"
// in its name is taken.
FolderManifests manifests_in(const std::filesystem::path& folder,
                             std::initializer_list<std::string_view> endings,
                             const std::function<bool(std::string_view first_line)>& fits);

// The manifest that a reader takes: the one that was named, or that of the folder's part. Empty
// where there is none of validation. Throws DataError when none of training fits, or several.
std::filesystem::path manifest_of_part(
    const LayoutFiles& files,
    const std::function<FolderManifests(const std::filesystem::path& folder)>& look);

// Without byte-order mark and line end; empty when the file cannot be read.
std::string first_line_of(const std::filesystem::path& file);

// How manifests are recognised, by their first lines.
bool is_coqui_header(std::string_view line);
bool is_common_voice_header(std::string_view line);
bool is_nemo_line(std::string_view line);

FolderManifests coqui_manifests(const std::filesystem::path& folder);
FolderManifests nemo_manifests(const std::filesystem::path& folder);
// Lines whose first field is an audio file that is there.
FolderManifests plain_manifests(const std::filesystem::path& folder);

}  // namespace myxtts
