// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_lines.h"
#include "data/layouts/piped_lines.h"

namespace myxtts {

void add_piped_lines(const std::filesystem::path& file, ManifestBuilder& builder) {
  ManifestLines lines(file);
  while (lines.next()) {
    const Place place{lines.file(), lines.number()};
    const auto fields = split(lines.text(), '|');
    if (builder.is_header(fields[0], place)) continue;
    if (fields.size() < 2 || fields.size() > 3) {
      builder.add_bad_line(place, fmt::format("{} columns, 2 or 3", fields.size()));
      continue;
    }
    const bool is_normalised = fields.size() == 3 && !fields[2].empty();
    builder.add(unquoted(fields[0]), {.text = is_normalised ? fields[2] : fields[1]}, place);
  }
}

Manifest read_ljspeech(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::LjSpeech, files.folder,
                          {files.folder / "wavs", files.folder});
  if (files.part == CorpusPart::Validation) return builder.take();
  add_piped_lines(files.manifest.empty() ? files.folder / "metadata.csv" : files.manifest, builder);
  return builder.take();
}

}  // namespace myxtts
