// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "config/run_config.h"
#include "data/index/clip_index.h"
#include "data/layouts/manifest.h"
#include "text/vocabulary.h"

namespace myxtts {

// One corpus, or a part of it, and what its clips are measured with. Everything outlives the scan.
struct ScanRequest {
  CorpusSource source;
  CorpusPart part = CorpusPart::Train;
  const DataConfig& config;
  const Vocabulary& vocabulary;

  // The clips' language where they name none.
  const std::string& language() const {
    return source.language ? *source.language : config.language;
  }
};

// Of all that an index depends on besides the files: the corpus' path and layout, the language, the
// limits, the vocabulary's content, and the versions of the cleaner and of the decoder.
std::uint64_t index_key(const ScanRequest& request);

// Reads the corpus' manifest, and looks at every file and text, with all cores; shows progress. A
// clip that `known` has with the same file (by size and time of change), text and language is taken
// from there. `known` has the same key; null: there is none.
//
// Throws DataError when the corpus cannot be read, ConfigError for a language that the vocabulary
// does not have.
ClipIndexContent scan_corpus(const ScanRequest& request, const ClipIndex* known);

// What happened to the files of an index since it was made, in words; empty: nothing. Looks at
// every file's size and time of change, with all cores.
std::string changes_since(const ClipIndex& index);

// Makes the folder and those above it where they are missing. Throws DataError with a remedy.
void make_folder(const std::filesystem::path& folder);

// The index of a corpus as it is now, in the folder where a run keeps those of its corpora: opened
// where that is enough, otherwise made anew from what is still right of the old one, with a line of
// log that says why. Throws DataError when the folder cannot be written to.
//
// Any number of processes may use one folder: an index appears whole or not at all, and one process
// scans while the others wait for it.
ClipIndex open_index(const std::filesystem::path& folder, const ScanRequest& request);

// The file that it is in.
std::filesystem::path index_file(const std::filesystem::path& folder, const ScanRequest& request);

}  // namespace myxtts
