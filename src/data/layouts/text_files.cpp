// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/folder_walk.h"
#include "data/layouts/layout.h"
#include "data/layouts/text_beside.h"

namespace myxtts {

// A folder inside the corpus is a speaker.
Manifest read_text_files(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::TextFiles, files.folder, {files.folder});
  if (files.part == CorpusPart::Validation) return builder.take();
  const std::size_t root = files.folder.string().size() + 1;
  const auto speaker_of = [root](std::string_view stem) {
    const std::string_view below = stem.substr(std::min(root, stem.size()));
    const std::size_t slash = below.find('/');
    return std::string(slash == below.npos ? std::string_view() : below.substr(0, slash));
  };
  add_clips_with_text_beside(files_below(files.folder), ".txt", speaker_of, builder);
  return builder.take();
}

}  // namespace myxtts
