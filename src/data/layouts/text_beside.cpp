// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/text_beside.h"

#include <algorithm>
#include <fstream>
#include <unordered_set>

namespace myxtts {
namespace {

constexpr std::size_t kLongestText = 65'536;

void add_lonely(ManifestBuilder& builder, const std::string& file, SkipReason reason,
                std::string measured) {
  builder.add_skipped({.file = file, .reason = reason, .measured = std::move(measured)});
}

}  // namespace

void add_with_text_file(const std::string& audio, const std::string& text_file,
                        std::string_view speaker, ManifestBuilder& builder) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string text(kLongestText + 1, '\0');
  std::ifstream stream(text_file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (!stream.is_open() || text.size() > kLongestText) {
    const auto reason = stream.is_open() ? SkipReason::TextTooLong : SkipReason::MissingText;
    add_lonely(
        builder, audio, reason,
        stream.is_open() ? text_file + " is larger than 64 KB" : text_file + " cannot be read");
    return;
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  builder.add_found(audio, {.text = text, .speaker = speaker}, {.file = text_file});
}

void add_clips_with_text_beside(const std::vector<std::string>& files, std::string_view text_ending,
                                const std::function<std::string(std::string_view stem)>& speaker_of,
                                ManifestBuilder& builder) {
  std::unordered_set<std::string_view> texts;
  for (const std::string& file : files) {
    if (file.ends_with(text_ending)) texts.insert(file);
  }
  std::unordered_set<std::string> used;
  for (const std::string& file : files) {
    if (!has_audio_extension(file)) continue;
    const std::string_view stem = without_audio_extension(file);
    const std::string text_file = std::string(stem).append(text_ending);
    if (!texts.contains(text_file)) {
      add_lonely(builder, file, SkipReason::MissingText, "no " + text_file);
      continue;
    }
    used.insert(text_file);
    add_with_text_file(file, text_file, speaker_of(stem), builder);
  }
  for (const std::string& file : files) {
    if (file.ends_with(text_ending) && !used.contains(file)) {
      add_lonely(builder, file, SkipReason::MissingFile, "a text without a sound beside it");
    }
  }
}

}  // namespace myxtts
