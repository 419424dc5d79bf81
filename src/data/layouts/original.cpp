// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/layout.h"
#include "data/layouts/piped_lines.h"

namespace myxtts {

// The predecessor's: LJSpeech's lines in one file for each part.
Manifest read_original(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::Original, files.folder,
                          {files.folder / "wavs", files.folder});
  if (!files.manifest.empty()) {
    if (files.part == CorpusPart::Train) add_piped_lines(files.manifest, builder);
    return builder.take();
  }
  if (files.part == CorpusPart::Train) {
    add_piped_lines(files.folder / "metadata_train.csv", builder);
  } else if (const auto eval = first_file(files.folder, {"metadata_eval.csv"}); !eval.empty()) {
    add_piped_lines(eval, builder);
  }
  return builder.take();
}

}  // namespace myxtts
