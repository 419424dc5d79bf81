// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/skipped.h"

namespace myxtts {

// One clip as the files of a corpus name it; nothing of its sound was looked at. Paths are plain
// strings: a million entries must fit into memory.
struct ManifestEntry {
  std::string id = {};     // unique in its corpus: the path below its folder, without extension
  std::string audio = {};  // path of a file that is there
  std::string text = {};   // as it stands, without blanks at its ends; may be empty or not UTF-8
  std::string speaker = {};
  std::string language = {};  // empty: the corpus' own
  std::string manifest = {};  // the file that has the text
  std::int64_t line = 0;      // in it, from 1; 0: the layout has no lines
};

struct Manifest {
  CorpusLayout layout = CorpusLayout::LjSpeech;
  std::vector<ManifestEntry> entries;  // in the order of the files
  std::vector<Skipped> skipped;        // lines and files without a clip
};

// Which part of a corpus that has parts of its own (metadata_train.csv and metadata_eval.csv;
// train.tsv and dev.tsv).
enum class CorpusPart { Train, Validation };

// Throws DataError where a corpus of the settings is not there, cannot be read, has no layout that
// is known or, of those to train on, no recordings. Reads a manifest only where none are seen.
void check_corpora(const DataConfig& config);

// Reads the clips a folder or a manifest file names, in the layout asked for or found by looking.
// A corpus without parts of its own is all Train, and its Validation is empty.
//
// Throws DataError when there is no such corpus or its layout is not recognised, RefusedCorpusError
// when Train names nothing.
Manifest read_manifest(const CorpusSource& source, CorpusPart part = CorpusPart::Train);

}  // namespace myxtts
