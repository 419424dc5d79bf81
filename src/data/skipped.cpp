// SPDX-License-Identifier: Apache-2.0
#include "data/skipped.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/value_text.h"
#include "data/layouts/corpus_faults.h"

namespace myxtts {

std::string_view name_of(SkipReason reason) {
  switch (reason) {
    case SkipReason::BadLine:
      return "bad-line";
    case SkipReason::MissingFile:
      return "missing-file";
    case SkipReason::MissingText:
      return "missing-text";
    case SkipReason::Unreadable:
      return "unreadable";
    case SkipReason::Empty:
      return "empty";
    case SkipReason::Truncated:
      return "truncated";
    case SkipReason::NotANumber:
      return "not-a-number";
    case SkipReason::Clipped:
      return "clipped";
    case SkipReason::Silent:
      return "silent";
    case SkipReason::AudioTooShort:
      return "audio-too-short";
    case SkipReason::AudioTooLong:
      return "audio-too-long";
    case SkipReason::BadSampleRate:
      return "bad-sample-rate";
    case SkipReason::TextEmpty:
      return "text-empty";
    case SkipReason::TextNotUtf8:
      return "text-not-utf8";
    case SkipReason::TextUnknown:
      return "text-unknown";
    case SkipReason::TextTooLong:
      return "text-too-long";
    case SkipReason::TextTooFast:
      return "text-too-fast";
    case SkipReason::TextTooSlow:
      return "text-too-slow";
    case SkipReason::UnknownLanguage:
      return "unknown-language";
    case SkipReason::DuplicateId:
      return "duplicate-id";
  }
  return {};
}

const std::vector<SkipReason>& all_skip_reasons() {
  static const std::vector<SkipReason> reasons = [] {
    std::vector<SkipReason> all;
    for (int value = 0; value <= static_cast<int>(SkipReason::DuplicateId); ++value) {
      all.push_back(static_cast<SkipReason>(value));
    }
    return all;
  }();
  return reasons;
}

namespace {

// "wavs/a.wav (metadata.csv:12)".
std::string place_of(const Skipped& skipped) {
  std::string place = one_line(skipped.file.string());
  if (skipped.line > 0) {
    place += fmt::format(" ({}:{})", one_line(skipped.manifest.string()), skipped.line);
  }
  return place;
}

// By manifest, line and file.
std::vector<Skipped> in_order(std::vector<Skipped> list) {
  const auto key = [](const Skipped& skipped) {
    return std::tie(skipped.manifest, skipped.line, skipped.file, skipped.reason);
  };
  std::ranges::stable_sort(list,
                           [&key](const Skipped& a, const Skipped& b) { return key(a) < key(b); });
  return list;
}

}  // namespace

SkipList::SkipList(const DataConfig& config, std::vector<Skipped> known, std::filesystem::path file)
    : most_share_(config.max_skipped),
      strict_(false),
      file_(std::move(file)),
      list_(std::move(known)),
      written_(list_.size()) {}

SkipList::~SkipList() {
  try {
    if (written_ < list_.size()) write();
  } catch (const std::exception& error) {
    log_error("data", "{}", error.what());
  }
}

void SkipList::write() const {
  if (!file_.empty()) write_skipped(file_, in_order(list_));
}

void SkipList::save() {
  const std::lock_guard lock(mutex_);
  if (list_.size() < written_ + written_ / 4 + 1) return;
  write();
  written_ = list_.size();
}

void SkipList::add(Skipped skipped) {
  if (strict_) {
    throw RefusedCorpusError(
        fmt::format("{} cannot be used: {} ({}); mend it or leave out --strict.", place_of(skipped),
                    name_of(skipped.reason), skipped.measured));
  }
  const std::lock_guard lock(mutex_);
  list_.push_back(std::move(skipped));
}

std::vector<Skipped> SkipList::sorted() const {
  std::vector<Skipped> list;
  {
    const std::lock_guard lock(mutex_);
    list = list_;
  }
  return in_order(std::move(list));
}

std::map<SkipReason, std::int64_t> SkipList::counts() const {
  const std::lock_guard lock(mutex_);
  std::map<SkipReason, std::int64_t> counts;
  for (const Skipped& skipped : list_) ++counts[skipped.reason];
  return counts;
}

std::int64_t SkipList::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(list_.size());
}

namespace {

// What to do about the reason that most clips have; empty: the list says it all.
std::string main_remedy(std::vector<Skipped> list,
                        const std::map<SkipReason, std::int64_t>& counts) {
  const auto by_count = [](const auto& each) { return each.second; };
  const SkipReason most = std::ranges::max_element(counts, {}, by_count)->first;
  std::erase_if(list, [most](const Skipped& skipped) { return skipped.reason != most; });
  const auto remedies = remedies_of(list);
  return remedies.empty() ? std::string() : remedies.front();
}

}  // namespace

void SkipList::check_limit(std::int64_t all, std::filesystem::path written) const {
  if (written.empty()) written = file_;
  const auto skipped = size();
  if (static_cast<double>(skipped) <= most_share_ * static_cast<double>(all)) return;
  const auto by_reason = counts();
  const std::string remedy = main_remedy(sorted(), by_reason);
  if (skipped == all) {
    throw RefusedCorpusError(fmt::format(
        "{} be used ({}){}",
        all == 1 ? "The only clip cannot"
                 : fmt::format("None of the {} clips can", human_count(all)),
        summary_of(by_reason),
        remedy.empty() ? "; myxtts prepare CORPUS names each of them." : ". " + remedy));
  }
  const std::string finding = fmt::format(
      "{} of {} clips cannot be used ({}), more than the {:.4g} % that --max-skipped "
      "allows",
      human_count(skipped), human_count(all), summary_of(by_reason), 100.0 * most_share_);
  const std::string list = written.string();
  if (remedy.empty()) {
    throw RefusedCorpusError(
        fmt::format("{}; {}have all such clips named with myxtts prepare CORPUS, or raise "
                    "--max-skipped.",
                    finding, list.empty() ? "" : fmt::format("see {}, ", list)),
        written);
  }
  throw RefusedCorpusError(
      fmt::format("{}. {}{}", finding, remedy,
                  list.empty() ? "" : fmt::format(" {} names all of them.", list)),
      written);
}

std::string summary_of(const std::map<SkipReason, std::int64_t>& counts) {
  std::vector<std::pair<std::int64_t, SkipReason>> by_count;
  for (const auto& [reason, count] : counts) by_count.emplace_back(-count, reason);
  std::ranges::sort(by_count);
  std::string summary;
  for (const auto& [count, reason] : by_count) {
    if (!summary.empty()) summary += ", ";
    summary += fmt::format("{} {}", human_count(-count), name_of(reason));
  }
  return summary;
}

std::string json_line(const Skipped& skipped) {
  const nlohmann::ordered_json line = {{"file", skipped.file.string()},
                                       {"manifest", skipped.manifest.string()},
                                       {"line", skipped.line},
                                       {"reason", std::string(name_of(skipped.reason))},
                                       {"measured", skipped.measured}};
  // File names are bytes: what is not UTF-8 in them becomes U+FFFD.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void write_skipped(const std::filesystem::path& path, const std::vector<Skipped>& list) {
  std::string lines;
  for (const Skipped& skipped : list) lines += json_line(skipped) + "\n";
  write_file_atomically(path, std::as_bytes(std::span(lines)));
}

}  // namespace myxtts
