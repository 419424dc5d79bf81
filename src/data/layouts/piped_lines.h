// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "data/layouts/manifest_builder.h"

namespace myxtts {

// Adds the clips of lines "id|text" and "id|text|normalised text". Quotes are part of the text.
void add_piped_lines(const std::filesystem::path& file, ManifestBuilder& builder);

}  // namespace myxtts
