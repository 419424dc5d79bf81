// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "data/layouts/first_lines.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_builder.h"
#include "data/layouts/manifest_lines.h"
#include "data/layouts/named_columns.h"

namespace myxtts {
Manifest read_coqui_csv(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::CoquiCsv, files.folder,
                          {files.folder, files.folder / "wavs"});
  const auto manifest = manifest_of_part(files, coqui_manifests);
  if (manifest.empty()) return builder.take();
  ManifestLines lines(manifest);
  if (!lines.next()) return builder.take();
  const NamedColumns columns(split_quoted(lines.text(), '|'));
  if (!columns.has("audio_file") || !columns.has("text")) {
    throw DataError(
        fmt::format("{}: the first line must name the columns audio_file and text, as in "
                    "audio_file|text|speaker_name.",
                    lines.file()));
  }
  while (lines.next()) {
    const Place place{lines.file(), lines.number()};
    const auto fields = split_quoted(lines.text(), '|');
    if (fields.size() != columns.size()) {
      builder.add_bad_line(place, fmt::format("{} columns, {}", fields.size(), columns.size()));
      continue;
    }
    builder.add(columns.field(fields, "audio_file"),
                {.text = columns.field(fields, "text"),
                 .speaker = columns.field(fields, "speaker_name"),
                 .language = columns.field(fields, "language")},
                place);
  }
  return builder.take();
}

}  // namespace myxtts
