// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/message_text.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_builder.h"

namespace myxtts {
namespace {

std::string wrong_columns(std::size_t found, const std::string& wanted) {
  return fmt::format("{}; must be {}", counted(static_cast<std::int64_t>(found), "column"), wanted);
}

// Adds the clips of lines "id|text" and "id|text|normalised text". Quotes are part of the text.
void add_piped_lines(const std::filesystem::path& file, ManifestBuilder& builder) {
  ManifestLines lines(file);
  while (lines.next()) {
    const auto fields = split(lines.text(), '|');
    if (builder.is_header(fields[0], lines)) continue;
    if (fields.size() < 2 || fields.size() > 3) {
      builder.add_bad_line(lines, wrong_columns(fields.size(), "2 or 3"));
      continue;
    }
    const bool is_normalised = fields.size() == 3 && !fields[2].empty();
    builder.add(unquoted(fields[0]), lines.entry(is_normalised ? fields[2] : fields[1]));
  }
}

// The file that was named, or that of the folder.
std::filesystem::path manifest_or(const LayoutFiles& files, const char* name) {
  if (!files.manifest.empty()) return files.manifest;
  const auto found = first_file(files.folder, {name});
  return found.empty() ? files.folder / name : found;
}

}  // namespace

Manifest read_ljspeech(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::LjSpeech, files.folder,
                          {subfolder(files.folder, "wavs"), files.folder});
  if (files.part == CorpusPart::Validation) return builder.take();
  add_piped_lines(manifest_or(files, "metadata.csv"), builder);
  return builder.take();
}

// The predecessor's: LJSpeech's lines in one file for each part.
Manifest read_original(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::Original, files.folder,
                          {subfolder(files.folder, "wavs"), files.folder});
  if (!files.manifest.empty()) {
    if (files.part == CorpusPart::Train) add_piped_lines(files.manifest, builder);
    return builder.take();
  }
  if (files.part == CorpusPart::Train) {
    add_piped_lines(manifest_or(files, "metadata_train.csv"), builder);
  } else if (const auto eval = first_file(files.folder, {"metadata_eval.csv"}); !eval.empty()) {
    add_piped_lines(eval, builder);
  }
  return builder.take();
}

Manifest read_plain(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::Plain, files.folder,
                          {files.folder, subfolder(files.folder, "wavs")});
  const auto manifest = manifest_of_part(files, plain_manifests);
  if (manifest.empty()) return builder.take();
  ManifestLines lines(manifest);
  while (lines.next()) {
    const auto fields = split_quoted(lines.text(), '|');
    if (builder.is_header(fields[0], lines)) continue;
    if (fields.size() < 2 || fields.size() > 4) {
      builder.add_bad_line(lines, wrong_columns(fields.size(), "2 to 4"));
      continue;
    }
    builder.add(fields[0],
                lines.entry(fields[1], fields.size() > 2 ? std::string_view(fields[2]) : "",
                            fields.size() > 3 ? std::string_view(fields[3]) : ""));
  }
  return builder.take();
}

Manifest read_coqui_csv(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::CoquiCsv, files.folder,
                          {files.folder, subfolder(files.folder, "wavs")});
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
    const auto fields = split_quoted(lines.text(), '|');
    if (fields.size() != columns.size()) {
      builder.add_bad_line(lines, wrong_columns(fields.size(), std::to_string(columns.size())));
      continue;
    }
    builder.add(columns.field(fields, "audio_file"),
                lines.entry(columns.field(fields, "text"), columns.field(fields, "speaker_name"),
                            columns.field(fields, "language")));
  }
  return builder.take();
}

namespace {

std::filesystem::path common_voice_manifest(const LayoutFiles& files) {
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
                          {subfolder(files.folder, "clips"), files.folder});
  const auto manifest = common_voice_manifest(files);
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
    const auto fields = fields_of(lines.text());
    if (!columns.reaches(fields, "path") || !columns.reaches(fields, "sentence")) {
      builder.add_bad_line(lines, wrong_columns(fields.size(), std::to_string(columns.size())));
      continue;
    }
    builder.add(columns.field(fields, "path"),
                lines.entry(columns.field(fields, "sentence"), columns.field(fields, "client_id"),
                            small_letters(columns.field(fields, "locale"))));
  }
  return builder.take();
}

namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;

// Numbers are names, too: "speaker": 17.
std::string word_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? found->dump() : std::string();
}

std::string first_word_of(const nlohmann::json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (auto word = word_of(object, key); !word.empty()) return word;
  }
  return {};
}

// What is wrong with a line; empty when it names a clip.
std::string fault_of(const nlohmann::json& object) {
  if (!object.is_object()) return "not an object of JSON";
  for (const char* key : {"audio_filepath", "text"}) {
    if (!object.contains(key) || !object[key].is_string()) return fmt::format("no {}", key);
  }
  const auto offset = object.find("offset");
  if (offset != object.end() && offset->is_number() && offset->get<double>() != 0.0) {
    return fmt::format("offset {}; a clip must be a whole file", offset->dump());
  }
  return {};
}

void add_line(const ManifestLines& lines, ManifestBuilder& builder) {
  if (lines.text().size() > kLongestLine) {
    builder.add_bad_line(lines,
                         fmt::format("{} bytes, at most {}", human_count(std::ssize(lines.text())),
                                     human_count(kLongestLine)));
    return;
  }
  const auto object = nlohmann::json::parse(lines.text(), nullptr, false);
  if (const auto fault = object.is_discarded() ? std::string("not JSON") : fault_of(object);
      !fault.empty()) {
    builder.add_bad_line(lines, fault);
    return;
  }
  builder.add(word_of(object, "audio_filepath"),
              lines.entry(word_of(object, "text"),
                          first_word_of(object, {"speaker", "speaker_id", "speaker_name"}),
                          first_word_of(object, {"lang", "language", "target_lang"})));
}

}  // namespace

Manifest read_nemo_jsonl(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::NemoJsonl, files.folder, {files.folder});
  const auto manifest = manifest_of_part(files, nemo_manifests);
  if (manifest.empty()) return builder.take();
  ManifestLines lines(manifest);
  while (lines.next()) add_line(lines, builder);
  return builder.take();
}

}  // namespace myxtts
