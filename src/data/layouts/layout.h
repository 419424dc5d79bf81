// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/layouts/manifest.h"

namespace myxtts {

// Where a layout looks.
struct LayoutFiles {
  std::filesystem::path folder;         // what ids and relative paths start from
  std::filesystem::path manifest = {};  // the file that was named; empty: the folder's own
  CorpusPart part = CorpusPart::Train;
};

// One reader for each layout. They throw DataError only where a file that the layout stands on
// is missing or cannot be read.
Manifest read_ljspeech(const LayoutFiles& files);
Manifest read_original(const LayoutFiles& files);
Manifest read_vctk(const LayoutFiles& files);
Manifest read_common_voice(const LayoutFiles& files);
Manifest read_libritts(const LayoutFiles& files);
Manifest read_coqui_csv(const LayoutFiles& files);
Manifest read_plain(const LayoutFiles& files);
Manifest read_nemo_jsonl(const LayoutFiles& files);
Manifest read_text_files(const LayoutFiles& files);

// The layout that a folder or a file has. Throws DataError, saying what was looked for, when it has
// none that is known.
CorpusLayout detect_layout(const LayoutFiles& files);

// The layout of a folder that has a manifest or the folders of VCTK; nothing: it has none of them,
// though its tree may hold texts beside sounds.
std::optional<CorpusLayout> layout_by_manifest(const std::filesystem::path& folder);

// The corpora that lie below a folder, none of them in another: those nearest to it by
// layout_by_manifest(), sorted. A few levels and some hundred folders are looked at.
std::vector<std::string> corpora_below(const std::filesystem::path& folder);

// The folder `name` in `folder`, in letters of either case: "wavs" is also "Wavs". As it is written
// where there is none.
std::filesystem::path subfolder(const std::filesystem::path& folder, std::string_view name);

// The first of `names` that is a file in `folder`, in letters of either case; empty when there is
// none.
std::filesystem::path first_file(const std::filesystem::path& folder,
                                 std::initializer_list<const char*> names);

// Every file below a folder, sorted by path. Links are followed, but no folder is entered twice;
// names that start with a full stop are left alone. Throws DataError where a folder cannot be read.
std::vector<std::string> files_below(const std::filesystem::path& folder);

// The same, ending after the first `most` files in the order of the disk.
std::vector<std::string> some_files_below(const std::filesystem::path& folder, std::size_t most);

}  // namespace myxtts
