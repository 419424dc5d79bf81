// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/layouts/layout.h"

namespace myxtts {

// Why nothing of a corpus can be used, as sentences that name what is to be mended and how.

// Of a folder or file whose layout is not known: a manifest that may not be read or is empty,
// recordings without texts, or none of what the layouts look for.
std::string no_layout_found(const LayoutFiles& files);

// Of a manifest without an entry.
std::string no_clip_found(const LayoutFiles& files, const Manifest& manifest);

// Whether recordings lie where the layout has them, by a look at some files. Those of a manifest
// that names paths elsewhere do not.
bool shows_recordings(const LayoutFiles& files, CorpusLayout layout);

// What to do about clips that were left out, a sentence for each remedy; none for those where
// skipped.jsonl says it all.
std::vector<std::string> remedies_of(std::span<const Skipped> skipped);

}  // namespace myxtts
