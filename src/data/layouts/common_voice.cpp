// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_builder.h"
#include "data/layouts/manifest_lines.h"
#include "data/layouts/named_columns.h"

namespace myxtts {
namespace {

std::filesystem::path manifest_of(const LayoutFiles& files) {
  if (files.part == CorpusPart::Validation) {
    return files.manifest.empty() ? first_file(files.folder, {"dev.tsv"}) : std::filesystem::path();
  }
  if (!files.manifest.empty()) return files.manifest;
  const auto found = first_file(files.folder, {"train.tsv", "validated.tsv"});
  return found.empty() ? files.folder / "train.tsv" : found;
}

// "zh-CN" as "zh-cn".
std::string small_letters(std::string_view locale) {
  std::string small(locale);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

// In a table of tabs quotes are part of the sentence, unless they wrap it as CSV does.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (const std::string_view field : split(line, '\t')) fields.push_back(unquoted(field));
  return fields;
}

}  // namespace

Manifest read_common_voice(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::CommonVoice, files.folder,
                          {files.folder / "clips", files.folder});
  const auto manifest = manifest_of(files);
  if (manifest.empty()) return builder.take();
  ManifestLines lines(manifest);
  if (!lines.next()) return builder.take();
  const NamedColumns columns(fields_of(lines.text()));
  if (!columns.has("path") || !columns.has("sentence")) {
    throw DataError(fmt::format(
        "{}: the first line must name the columns path and sentence, with tabs between them.",
        lines.file()));
  }
  while (lines.next()) {
    const Place place{lines.file(), lines.number()};
    const auto fields = fields_of(lines.text());
    if (!columns.reaches(fields, "path") || !columns.reaches(fields, "sentence")) {
      builder.add_bad_line(place, fmt::format("{} columns, {}", fields.size(), columns.size()));
      continue;
    }
    builder.add(columns.field(fields, "path"),
                {.text = columns.field(fields, "sentence"),
                 .speaker = columns.field(fields, "client_id"),
                 .language = small_letters(columns.field(fields, "locale"))},
                place);
  }
  return builder.take();
}

}  // namespace myxtts
