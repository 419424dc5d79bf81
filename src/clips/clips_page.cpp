// SPDX-License-Identifier: Apache-2.0
// The part of corpus_folder.h that is clips.html, and corrections.json, which that page saves.
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/message_text.h"
#include "clips/corpus_folder.h"
#include "config/json.h"
#include "text/unicode.h"

namespace myxtts {

extern const std::string_view kClipsPage;  // made of the files in page/ when the program is built

namespace {

using PageJson = nlohmann::ordered_json;

constexpr std::string_view kCorpusPlace =
    R"(<script type="application/json" id="corpus">null</script>)";

PageJson row_of(const MadeClip& clip, const std::string& recording, const ClipCorpus& corpus) {
  const auto speaker = corpus.speakers.find(clip.name);
  return {{"name", clip.name},
          {"recording", recording},
          {"begin", clip.begin},
          {"end", clip.end},
          {"text", clip.text.text},
          {"heard", clip.text.heard},
          {"source", name_of(clip.text.source)},
          {"confidence", clip.text.confidence},
          {"doubt", clip.text.doubt},
          {"speaker", speaker == corpus.speakers.end() ? std::string() : speaker->second},
          {"corrected", corpus.corrected.contains(clip.name)}};
}

PageJson row_of(const LeftOut& stretch, const std::string& recording) {
  return {{"recording", recording},
          {"begin", stretch.begin},
          {"end", stretch.end},
          {"reason", stretch.reason.sentence},
          {"text", stretch.text}};
}

// No tag of the page can end or begin in it.
std::string in_script(const PageJson& json) {
  std::string made;
  for (const char c : json.dump(-1, ' ', false, PageJson::error_handler_t::replace)) {
    if (c == '<') {
      made += "\\u003c";
    } else {
      made += c;
    }
  }
  return made;
}

}  // namespace

void write_clips_page(const std::filesystem::path& file, const ClipCorpus& corpus) {
  PageJson json{{"title", corpus.title},
                {"language", corpus.language},
                {"limits", {{"kept", corpus.min_confidence}, {"sure", kSureConfidence}}},
                {"clips", PageJson::array()},
                {"left_out", PageJson::array()},
                {"unread", corpus.unread}};
  for (const RecordingClips& made : corpus.recordings) {
    for (const MadeClip& clip : made.clips) {
      json["clips"].push_back(row_of(clip, made.recording, corpus));
    }
    for (const LeftOut& stretch : made.left_out) {
      if (stretch.reason.name == "silence") continue;
      json["left_out"].push_back(row_of(stretch, made.recording));
    }
  }
  std::string html(kClipsPage);
  const auto at = html.find(kCorpusPlace);
  MYXTTS_CHECK(at != std::string::npos, "the page has no place for a corpus");
  html.replace(at + kCorpusPlace.find("null"), 4, in_script(json));
  write_file_atomically(file, std::as_bytes(std::span(html)));
}

// --- Corrections ----------------------------------------------------------------------------

namespace {

using CorrectionJson = nlohmann::json;

constexpr std::size_t kLongestCorrection = 4'000;  // bytes; a clip lasts seconds
constexpr const char* kCorrectionsFormat = "myxtts-corrections";

std::optional<std::string> text_at(const CorrectionJson& entry, const char* key,
                                   const std::string& subject) {
  const auto found = entry.find(key);
  if (found == entry.end() || found->is_null()) return std::nullopt;
  if (!found->is_string() || found->get_ref<const std::string&>().size() > kLongestCorrection) {
    throw DataError(fmt::format("{}: \"{}\" of a clip is no text of a few seconds.", subject, key));
  }
  return collapse_spaces(repair_utf8(found->get_ref<const std::string&>()));
}

Correction correction_of(const CorrectionJson& entry, const std::string& subject) {
  if (!entry.is_object()) throw DataError(fmt::format("{}: a clip is no object.", subject));
  const auto name = text_at(entry, "clip", subject);
  if (!name || name->empty() || name->find('/') != std::string::npos) {
    throw DataError(fmt::format("{}: a clip has no name.", subject));
  }
  Correction correction{.clip = *name,
                        .text = text_at(entry, "text", subject),
                        .was = text_at(entry, "was", subject).value_or("")};
  if (correction.text && correction.text->empty()) {
    throw DataError(fmt::format("{}: the text of {} is empty; reject the clip to leave it out.",
                                subject, printable(*name)));
  }
  const auto accepted = entry.find("accepted");
  if (accepted != entry.end() && !accepted->is_null()) {
    if (!accepted->is_boolean()) {
      throw DataError(fmt::format("{}: \"accepted\" of {} is neither true nor false.", subject,
                                  printable(*name)));
    }
    correction.accepted = accepted->get<bool>();
  }
  return correction;
}

}  // namespace

std::vector<Correction> parse_corrections(std::string_view text, const std::string& subject) {
  const auto json = parse_shallow_json<CorrectionJson>(text);
  const auto clips = json.is_object() ? json.find("clips") : json.end();
  if (!json.is_object() || json.value("format", CorrectionJson()) != kCorrectionsFormat ||
      clips == json.end() || !clips->is_array()) {
    throw DataError(fmt::format(
        "{} holds no corrections; it is the file corrections.json that clips.html saves.",
        subject));
  }
  if (json.value("version", CorrectionJson()) != 1) {
    throw DataError(fmt::format(
        "{} is of a newer version of the page; this program reads version 1. Take the program that "
        "wrote clips.html.",
        subject));
  }
  std::vector<Correction> corrections;
  std::set<std::string> names;
  for (const CorrectionJson& entry : *clips) {
    corrections.push_back(correction_of(entry, subject));
    if (!names.insert(corrections.back().clip).second) {
      throw DataError(fmt::format("{} corrects the clip {} twice.", subject,
                                  printable(corrections.back().clip)));
    }
  }
  return corrections;
}

std::string to_json(const std::vector<Correction>& corrections) {
  nlohmann::ordered_json clips = nlohmann::ordered_json::array();
  for (const Correction& correction : corrections) {
    nlohmann::ordered_json entry{{"clip", correction.clip}, {"was", correction.was}};
    if (correction.text) entry["text"] = *correction.text;
    if (correction.accepted) entry["accepted"] = *correction.accepted;
    clips.push_back(std::move(entry));
  }
  const nlohmann::ordered_json all{
      {"format", kCorrectionsFormat}, {"version", 1}, {"clips", clips}};
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<Correction> merged(const std::vector<Correction>& older,
                               const std::vector<Correction>& newer) {
  std::map<std::string, Correction> clips;
  for (const Correction& correction : older) clips.emplace(correction.clip, correction);
  for (const Correction& correction : newer) {
    Correction& known = clips.emplace(correction.clip, correction).first->second;
    if (correction.text) {
      known.text = correction.text;
      known.was = correction.was;
    }
    if (correction.accepted) known.accepted = correction.accepted;
  }
  std::vector<Correction> all;
  for (auto& [name, correction] : clips) all.push_back(std::move(correction));
  return all;
}

}  // namespace myxtts
