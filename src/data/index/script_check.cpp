// SPDX-License-Identifier: Apache-2.0
#include "data/index/script_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "text/script.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostTexts = 10'000;  // that are looked at, all over the corpus
constexpr std::size_t kOddShare = 10;       // one of so many is worth a warning

// Texts whose script is not their language's.
class OddTexts {
 public:
  void add(std::string_view text, const std::string& language) {
    const auto script = script_of(text);
    if (script.empty()) return;
    ++looked_at_;
    if (uses_script(parse_language(language), script)) return;
    Odd& odd = odd_[{language, std::string(script)}];
    ++odd.texts;
    ++odd.likely[likely_language(text, script)];
  }

  struct Odd {
    std::size_t texts = 0;
    std::map<std::string, std::size_t> likely = {};  // languages, and how many texts look like it
  };
  using Kind = std::pair<std::string, std::string>;  // language and script

  // The most frequent kind; null where too few texts are odd.
  const std::pair<const Kind, Odd>* most_frequent() const {
    const auto most =
        std::ranges::max_element(odd_, {}, [](const auto& kind) { return kind.second.texts; });
    if (most == odd_.end() || most->second.texts * kOddShare < looked_at_) return nullptr;
    return &*most;
  }
  std::size_t looked_at() const { return looked_at_; }

 private:
  std::size_t looked_at_ = 0;
  std::map<Kind, Odd> odd_;
};

bool has_unknown_texts(const ClipIndex& index) {
  return std::ranges::any_of(index.skipped(), [](const SkippedFile& file) {
    return file.skipped.reason == SkipReason::TextUnknown;
  });
}

// Of the clips that are kept; of all where some were left out for letters that no token has, which
// is what the wrong language does to them.
OddTexts odd_texts(const ScanRequest& request, const ClipIndex& index) {
  OddTexts texts;
  if (!has_unknown_texts(index)) {
    for (std::size_t i = 0; i < index.size(); i += index.size() / kMostTexts + 1) {
      const ClipView clip = index.clip(i);
      texts.add(clip.text, std::string(clip.language));
    }
    return texts;
  }
  CorpusSource source = request.source;
  if (!source.layout) source.layout = request.config.format;
  const Manifest manifest = read_manifest(source, request.part);
  for (std::size_t i = 0; i < manifest.entries.size();
       i += manifest.entries.size() / kMostTexts + 1) {
    const ManifestEntry& entry = manifest.entries[i];
    if (entry.language.empty()) texts.add(entry.text, request.language());
  }
  return texts;
}

// What gives the texts another language: where theirs came from decides.
std::string remedy(const ScanRequest& request, const std::string& language,
                   const std::string& likely) {
  if (parse_language(language) != parse_language(request.language())) {
    return "mend the language that the manifest gives them";
  }
  const std::string code = likely.empty() ? "CODE, with the code of their language" : likely;
  if (!request.source.language) return fmt::format("give --language {}", code);
  return fmt::format("give {},language={}", shell_word(request.source.path.string()), code);
}

}  // namespace

std::string warning_of_scripts(const ScanRequest& request, const ClipIndex& index) {
  const OddTexts texts = odd_texts(request, index);
  const auto* most = texts.most_frequent();
  if (most == nullptr) return {};
  const auto& [kind, odd] = *most;
  const auto likely =
      std::ranges::max_element(odd.likely, {}, [](const auto& counted) { return counted.second; });
  return fmt::format(
      "{} of {} transcripts of {} are written in {} script, which {} does not use: {}.",
      human_count(static_cast<std::int64_t>(odd.texts)),
      human_count(static_cast<std::int64_t>(texts.looked_at())), request.source.path.string(),
      kind.second, kind.first, remedy(request, kind.first, likely->first));
}

}  // namespace myxtts
