// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "data/layouts/folder_manifests.h"

namespace myxtts {

// How manifests are told apart, by their first lines.
bool is_coqui_header(std::string_view line);
bool is_common_voice_header(std::string_view line);
bool is_nemo_line(std::string_view line);

FolderManifests coqui_manifests(const std::filesystem::path& folder);
FolderManifests nemo_manifests(const std::filesystem::path& folder);
// Lines whose first field is an audio file that is there.
FolderManifests plain_manifests(const std::filesystem::path& folder);

}  // namespace myxtts
