// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/folder_walk.h"
#include "data/layouts/layout.h"
#include "data/layouts/text_beside.h"

namespace myxtts {
namespace {

// "84" of ".../84/121123/84_121123_000007_000001".
std::string speaker_of(std::string_view stem) {
  const std::string_view name = stem.substr(stem.rfind('/') + 1);
  return std::string(name.substr(0, name.find('_')));
}

}  // namespace

Manifest read_libritts(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::LibriTts, files.folder, {files.folder});
  if (files.part == CorpusPart::Train) {
    add_clips_with_text_beside(files_below(files.folder), ".normalized.txt", speaker_of, builder);
  }
  return builder.take();
}

}  // namespace myxtts
