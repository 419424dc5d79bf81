// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/layouts/manifest_builder.h"

namespace myxtts {

// Adds a clip whose text is the whole of a file, as one line: line ends become blanks.
void add_with_text_file(const std::string& audio, const std::string& text_file,
                        std::string_view speaker, ManifestBuilder& builder);

// Adds a clip for each audio file that has its text in a file of the same path with `text_ending`
// in place of the extension, and says which texts and sounds stand alone. `files` are sorted.
void add_clips_with_text_beside(const std::vector<std::string>& files, std::string_view text_ending,
                                const std::function<std::string(std::string_view stem)>& speaker_of,
                                ManifestBuilder& builder);

}  // namespace myxtts
