// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "data/layouts/first_lines.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_builder.h"
#include "data/layouts/manifest_lines.h"

namespace myxtts {

Manifest read_plain(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::Plain, files.folder, {files.folder, files.folder / "wavs"});
  const auto manifest = manifest_of_part(files, plain_manifests);
  if (manifest.empty()) return builder.take();
  ManifestLines lines(manifest);
  while (lines.next()) {
    const Place place{lines.file(), lines.number()};
    const auto fields = split_quoted(lines.text(), '|');
    if (builder.is_header(fields[0], place)) continue;
    if (fields.size() < 2 || fields.size() > 4) {
      builder.add_bad_line(place, fmt::format("{} columns, 2 to 4", fields.size()));
      continue;
    }
    builder.add(fields[0],
                {.text = fields[1],
                 .speaker = fields.size() > 2 ? std::string_view(fields[2]) : "",
                 .language = fields.size() > 3 ? std::string_view(fields[3]) : ""},
                place);
  }
  return builder.take();
}

}  // namespace myxtts
