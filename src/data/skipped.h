// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/run_config.h"
#include "data/clip.h"

namespace myxtts {

// Why a clip is left out. One clip has one reason, the first that was found.
enum class SkipReason {
  BadLine,        // a line of the manifest that cannot be understood
  MissingFile,    // the manifest names it, the disk does not have it
  MissingText,    // a sound without the text file that its layout puts beside it
  Unreadable,     // not audio, or refused by the disk
  Empty,          // audio without a sample
  Truncated,      // shorter than its header promises
  NotANumber,     // NaN or infinite samples
  Clipped,        // at full scale throughout
  Silent,         // nothing to hear
  AudioTooShort,  // below data.min_seconds
  AudioTooLong,   // above data.max_seconds
  BadSampleRate,  // outside 8 to 192 kHz
  TextEmpty,
  TextNotUtf8,
  TextUnknown,      // not one known token, or one that is not known
  TextTooLong,      // above data.max_text_tokens
  TextTooFast,      // more characters a second than anybody speaks: a transcript of another clip
  TextTooSlow,      // fewer than anybody speaks
  UnknownLanguage,  // the vocabulary does not have the clip's language
  DuplicateId,
};

// "audio-too-long": what skipped.jsonl, --json and the documents call it.
std::string_view name_of(SkipReason reason);

// Every reason, in the order of the enumeration.
const std::vector<SkipReason>& all_skip_reasons();

// One clip that is left out. A value, not an error: other clips go on.
struct Skipped {
  std::filesystem::path file = {};  // the audio file; the manifest itself for a bad line
  std::filesystem::path manifest = {};
  std::int64_t line = 0;  // in the manifest, from 1; 0: no line names it
  SkipReason reason = SkipReason::Unreadable;
  std::string measured = {};  // "31.7 s, at most 11.6 s"
  FileStamp stamp = {};       // of the audio file as it was then, where an index remembers it
};

// A corpus cannot be used as it is, so that a run which was to begin with it is none.
struct RefusedCorpusError : DataError {
  explicit RefusedCorpusError(const std::string& what, std::filesystem::path list_of_clips = {})
      : DataError(what), list(std::move(list_of_clips)) {}

  std::filesystem::path list;  // the skipped.jsonl that names the clips; empty: the sentence does
};

// The clips a run leaves out: collected by many threads, then listed and checked by one.
class SkipList {
 public:
  explicit SkipList(const DataConfig& config)
      : most_share_(config.max_skipped), strict_(config.strict) {}
  // Of a corpus that was opened, and so judged: it begins with what was left out then, which `file`
  // holds already, and nothing is strict about what is added. save() writes to the file; empty:
  // nothing is written.
  SkipList(const DataConfig& config, std::vector<Skipped> known, std::filesystem::path file);
  SkipList(const SkipList&) = delete;
  SkipList& operator=(const SkipList&) = delete;
  ~SkipList();  // writes what save() put off

  // Throws RefusedCorpusError, naming the clip, where data.strict is set. Any thread.
  void add(Skipped skipped);

  // Sorted by manifest, line and file, so that no order of threads shows.
  std::vector<Skipped> sorted() const;
  std::map<SkipReason, std::int64_t> counts() const;
  std::int64_t size() const;

  // Replaces the file by the list, unless hardly anything was added since: one that is long is not
  // written again for each further clip. Any thread.
  void save();

  // Throws RefusedCorpusError with the reasons and what to do when more than data.max_skipped of
  // `all` clips, kept and left out, are in the list. `written` is where skipped.jsonl was put;
  // empty: the list's own file, if it has one.
  void check_limit(std::int64_t all, std::filesystem::path written = {}) const;

 private:
  void write() const;  // with mutex_ held

  const double most_share_;
  const bool strict_;
  const std::filesystem::path file_ = {};

  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_.
  std::vector<Skipped> list_;
  std::size_t written_ = 0;  // how many of them are in the file
};

// "2 audio-too-long, 1 silent", the most frequent first; empty for none.
std::string summary_of(const std::map<SkipReason, std::int64_t>& counts);

// A line of skipped.jsonl: {"file", "manifest", "line", "reason", "measured"}.
std::string json_line(const Skipped& skipped);

// Replaces the file with one line for each. The file appears whole or not at all.
void write_skipped(const std::filesystem::path& path, const std::vector<Skipped>& list);

}  // namespace myxtts
