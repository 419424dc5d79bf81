// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/layouts/first_lines.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_builder.h"
#include "data/layouts/manifest_lines.h"

namespace myxtts {
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
  const Place place{lines.file(), lines.number()};
  if (lines.text().size() > kLongestLine) {
    builder.add_bad_line(place, fmt::format("{} bytes", lines.text().size()));
    return;
  }
  const auto object = nlohmann::json::parse(lines.text(), nullptr, false);
  if (const auto fault = object.is_discarded() ? std::string("not JSON") : fault_of(object);
      !fault.empty()) {
    builder.add_bad_line(place, fault);
    return;
  }
  builder.add(word_of(object, "audio_filepath"),
              {.text = word_of(object, "text"),
               .speaker = first_word_of(object, {"speaker", "speaker_id", "speaker_name"}),
               .language = first_word_of(object, {"lang", "language", "target_lang"})},
              place);
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
