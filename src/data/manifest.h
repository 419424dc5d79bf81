// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/data.h"
#include "data/skipped.h"

namespace myxtts {

// One clip as the files of a corpus name it; nothing of its sound was looked at.
struct ManifestEntry {
  std::string id;  // unique in its corpus: the path below its folder, without extension
  std::filesystem::path audio;  // found on disk
  std::string text;
  std::string speaker = {};
  std::string language = {};  // empty: the corpus' own
  std::filesystem::path manifest = {};
  std::int64_t line = 0;  // from 1; 0: the layout has no lines
};

struct Manifest {
  CorpusLayout layout = CorpusLayout::LjSpeech;
  std::vector<ManifestEntry> entries;  // in the order of the files
  std::vector<Skipped> skipped;        // lines without a clip
};

// Which part of a corpus that has parts of its own (metadata_train.csv and metadata_eval.csv;
// train.tsv and dev.tsv). A corpus without parts is all Train.
enum class CorpusPart { Train, Validation };

// Reads the clips a folder or a manifest file names, in the layout asked for or found by looking.
// Throws DataError when the layout is not known or nothing is there.
Manifest read_manifest(const CorpusSource& source, CorpusPart part = CorpusPart::Train);

}  // namespace myxtts
