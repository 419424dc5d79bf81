// SPDX-License-Identifier: Apache-2.0
#include "clips/corrections.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/message_text.h"
#include "config/json.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using CorrectionJson = nlohmann::json;

constexpr std::size_t kLargestCorrections = 64'000'000;  // bytes
constexpr std::size_t kLongestCorrection = 4'000;        // bytes; a clip lasts seconds
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

std::vector<Correction> read_corrections(const std::filesystem::path& file) {
  return parse_corrections(read_text_file(file, "file of corrections", kLargestCorrections),
                           file.string());
}

}  // namespace myxtts
