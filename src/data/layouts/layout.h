// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
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
