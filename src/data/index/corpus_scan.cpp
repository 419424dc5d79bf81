// SPDX-License-Identifier: Apache-2.0
#include "data/index/corpus_scan.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/file.h>
#include <sys/stat.h>

#include "audio/ffmpeg.h"
#include "audio/phase_filter.h"
#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "base/thread_group.h"
#include "config/value_text.h"
#include "data/clip.h"
#include "data/clip_decoder.h"
#include "data/index/clip_checks.h"
#include "text/cleaner.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// As it stands in the manifest, and the code that is meant where it is another's.
std::string unknown_language(const std::string& name) {
  const auto meant = is_language_code(name) ? std::nullopt : language_code_meant(name);
  return meant ? fmt::format("{}; write {}", name, *meant) : name;
}

// Calls work(number) for every number below `count`, from as many threads as there are cores.
// Throws the first exception that left one; the others then stop early.
template <typename Work>
void for_each_in_parallel(std::size_t count, Work work) {
  constexpr std::size_t kBlock = 32;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next = 0;
  ThreadGroup threads;
  for (std::size_t t = 0; t < std::min(cores, (count + kBlock - 1) / kBlock); ++t) {
    threads.start("scan", [&] {
      try {
        for (std::size_t first; (first = next.fetch_add(kBlock)) < count;) {
          for (std::size_t i = first; i < std::min(first + kBlock, count); ++i) work(i);
        }
      } catch (...) {
        next = count;
        throw;
      }
    });
  }
  threads.join();
}

// The same for many files, one folder after another: the system walks down to a folder only once.
class StampReader {
 public:
  StampReader() = default;
  StampReader(const StampReader&) = delete;
  StampReader& operator=(const StampReader&) = delete;
  ~StampReader();

  FileStamp operator()(std::string_view path);

 private:
  void enter(std::string_view folder);

  std::string folder_;
  std::string name_;
  int opened_ = -1;  // folder_; -1: not yet, or it cannot be
};

FileStamp stamp_at(int folder, const std::string& name) {
  struct stat status {};
  if (fstatat(folder, name.c_str(), &status, 0) != 0) return {};
  return {
      .size = status.st_size,
      .changed_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// What the file or folder is now; size -1 where there is none.
FileStamp stamp_of(const std::string& path) {
  return stamp_at(AT_FDCWD, path);
}

StampReader::~StampReader() {
  if (opened_ >= 0) close(opened_);
}

void StampReader::enter(std::string_view folder) {
  if (opened_ >= 0 && folder == folder_) return;
  if (opened_ >= 0) close(opened_);
  folder_ = folder;
  opened_ = open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

FileStamp StampReader::operator()(std::string_view path) {
  const auto slash = path.rfind('/');
  name_ = path;
  if (slash == std::string_view::npos || slash == 0) return stamp_of(name_);
  enter(path.substr(0, slash));
  if (opened_ < 0) return stamp_of(name_);
  name_ = path.substr(slash + 1);
  return stamp_at(opened_, name_);
}

namespace fs = std::filesystem;

using Outcome = std::variant<ClipRow, Skipped>;

// What reads the texts of each language, by what the manifest calls it; null: the vocabulary does
// not have it. The corpus' own must be in the vocabulary.
using TextReaders = std::map<std::string, std::unique_ptr<const TextEncoder>, std::less<>>;

TextReaders make_readers(const ScanRequest& request, const Manifest& manifest) {
  TextReaders readers;
  for (const ManifestEntry& entry : manifest.entries) {
    const std::string& name = entry.language.empty() ? request.language() : entry.language;
    const auto [place, is_new] = readers.try_emplace(name);
    if (!is_new) continue;
    try {
      place->second = std::make_unique<const TextEncoder>(request.vocabulary, parse_language(name));
    } catch (const ConfigError&) {
      if (entry.language.empty()) throw;  // others' clips are left out, as UnknownLanguage
    }
  }
  return readers;
}

// Looks at clips, from any thread.
class ClipScanner {
 public:
  ClipScanner(const ScanRequest& request, const Manifest& manifest, const ClipIndex* known)
      : request_(request), readers_(make_readers(request, manifest)), known_(known) {
    for (std::size_t i = 0; known != nullptr && i < known->size(); ++i) {
      places_.emplace(known->clip(i).audio, i);
    }
  }

  Outcome scan(const ManifestEntry& entry) const {
    const auto& [name, encoder] =
        *readers_.find(entry.language.empty() ? request_.language() : entry.language);
    ClipRow row{.id = entry.id,
                .audio = entry.audio,
                .text = entry.text,
                .speaker = entry.speaker,
                .language = encoder ? std::string(language_code(parse_language(name))) : name,
                .manifest = entry.manifest,
                .line = entry.line,
                .stamp = stamp_of(entry.audio)};
    if (take_known(row)) return row;
    if (auto fault = read_text(encoder.get(), row)) return skipped(row, std::move(*fault));
    auto header = read_audio_header(entry.audio);
    if (auto* unreadable = std::get_if<Skipped>(&header)) {
      return skipped(row, std::move(*unreadable));
    }
    if (auto fault = check_sound(std::get<AudioHeader>(header), row)) {
      return skipped(row, std::move(*fault));
    }
    return row;
  }

  // Files with more than one channel among those whose headers were read.
  std::size_t mixed_down() const { return mixed_down_; }

 private:
  bool take_known(ClipRow& row) const {
    const auto place = places_.find(row.audio);
    if (place == places_.end()) return false;
    const ClipView clip = known_->clip(place->second);
    if (clip.stamp != row.stamp || clip.text != row.text || clip.language != row.language) {
      return false;
    }
    row.source_rate = clip.source_rate;
    row.source_frames = clip.source_frames;
    row.text_tokens = clip.text_tokens;
    return true;
  }

  std::optional<Skipped> read_text(const TextEncoder* encoder, ClipRow& row) const {
    if (auto fault = check_text(row.text)) return fault;
    if (encoder == nullptr) {
      return Skipped{.reason = SkipReason::UnknownLanguage,
                     .measured = unknown_language(row.language)};
    }
    const EncodedText encoded = encoder->encode(row.text);
    row.text_tokens = static_cast<std::int64_t>(encoded.ids.size());
    auto fault = check_tokens(encoded.ids, request_.vocabulary, request_.config);
    const auto signs = fault && fault->reason == SkipReason::TextUnknown
                           ? encoder->unknown_signs(encoded.clean)
                           : std::vector<char32_t>();
    if (!signs.empty()) fault->measured = describe_signs(signs) + " is not in the vocabulary";
    return fault;
  }

  std::optional<Skipped> check_sound(const AudioHeader& header, ClipRow& row) const {
    row.source_rate = header.sample_rate;
    row.source_frames = header.frames;
    if (header.channels > 1) ++mixed_down_;
    const auto samples = resampled_length(header.frames, header.sample_rate, kModelRate);
    if (auto fault = check_length(samples, request_.config)) return fault;
    return check_pace(row.text, header.seconds(), request_.config);
  }

  static Skipped skipped(const ClipRow& row, Skipped fault) {
    fault.file = row.audio;
    fault.manifest = row.manifest;
    fault.line = row.line;
    fault.stamp = row.stamp;
    return fault;
  }

  const ScanRequest& request_;
  const TextReaders readers_;
  const ClipIndex* known_;
  std::unordered_map<std::string_view, std::size_t> places_;  // of audio files in `known_`
  mutable std::atomic<std::size_t> mixed_down_ = 0;
};

bool is_missing(const Skipped& skipped) {
  return skipped.reason == SkipReason::MissingFile || skipped.reason == SkipReason::MissingText;
}

void add_folders_below(const fs::path& folder, std::set<std::string>& paths) {
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied |
                       fs::directory_options::follow_directory_symlink;
  for (auto entry = fs::recursive_directory_iterator(folder, options, failed);
       !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (entry->is_directory(failed)) paths.insert(entry->path().string());
  }
}

// Whatever decides which clips there are. A clip that is added shows in its manifest; where there
// are no lines, or where a line's file was not found, in the folder it is put into.
Witnesses find_witnesses(const ScanRequest& request, const Manifest& manifest) {
  std::set<std::string> paths = {request.source.path.string()};
  bool search_folders = manifest.entries.empty();
  for (const ManifestEntry& entry : manifest.entries) {
    if (!entry.manifest.empty()) paths.insert(entry.manifest);
    search_folders = search_folders || entry.line == 0;
  }
  for (const Skipped& skipped : manifest.skipped) {
    if (!skipped.manifest.empty()) paths.insert(skipped.manifest.string());
    search_folders = search_folders || skipped.line == 0 || is_missing(skipped);
  }
  if (search_folders) {
    const fs::path& path = request.source.path;
    add_folders_below(fs::is_directory(path) ? path : path.parent_path(), paths);
  }
  Witnesses witnesses;
  for (const std::string& path : paths) witnesses.emplace(path, stamp_of(path));
  return witnesses;
}

std::vector<Outcome> scan_clips(const ScanRequest& request, const Manifest& manifest,
                                const ClipIndex* known) {
  const ClipScanner scanner(request, manifest, known);
  std::vector<Outcome> outcomes(manifest.entries.size());
  Progress progress({.title = "Looking at clips", .total = manifest.entries.size()});
  for_each_in_parallel(manifest.entries.size(), [&](std::size_t i) {
    stop_if_interrupted();
    outcomes[i] = scanner.scan(manifest.entries[i]);
    progress.advance();
  });
  if (scanner.mixed_down() > 0) {
    log_info("data", "{}: {} more than one channel; the channels are mixed to one.",
             request.source.path.string(),
             counted(static_cast<std::int64_t>(scanner.mixed_down()), "file has", "files have"));
  }
  return outcomes;
}

}  // namespace

std::uint64_t index_key(const ScanRequest& request) {
  const DataConfig& config = request.config;
  const auto layout = request.source.layout ? request.source.layout : config.format;
  const std::string key = fmt::format(
      "{}\n{}\n{}\n{}\n{} {} {} {} {}\n{:x} {}", fs::absolute(request.source.path).string(),
      layout ? static_cast<int>(*layout) : -1, static_cast<int>(request.part), request.language(),
      least_samples(config), most_samples(config), config.max_text_tokens,
      config.min_chars_per_second, config.max_chars_per_second, request.vocabulary.content(),
      kCleanerVersion);
  FastChecksum checksum;
  checksum.add(bytes_of(key));
  return checksum.value();
}

ClipIndexContent scan_corpus(const ScanRequest& request, const ClipIndex* known) {
  CorpusSource source = request.source;
  if (!source.layout) source.layout = request.config.format;
  const Manifest manifest = read_manifest(source, request.part);
  ClipIndexContent content{.key = index_key(request), .rows = {}};
  // Before the clips are looked at: a change meanwhile must be seen as one the next time.
  content.witnesses = find_witnesses(request, manifest);
  content.skipped = manifest.skipped;
  for (Outcome& outcome : scan_clips(request, manifest, known)) {
    if (auto* row = std::get_if<ClipRow>(&outcome)) {
      content.rows.push_back(std::move(*row));
    } else {
      content.skipped.push_back(std::move(std::get<Skipped>(outcome)));
    }
  }
  return content;
}

std::string changes_since(const ClipIndex& index) {
  for (const auto& [path, stamp] : index.witnesses()) {
    if (stamp_of(path) != stamp) return "its manifest or folders have changed";
  }
  const bool has_ffmpeg = !find_program("ffmpeg").empty();
  std::atomic<std::int64_t> changed = 0;
  for (const Skipped& skipped : index.skipped()) {
    const bool has_stamp = skipped.stamp != FileStamp{};
    // What was left out for want of a program is looked at again once that is there.
    const bool can_be_read_now =
        has_ffmpeg && skipped.measured.find(kInstallFfmpeg) != std::string::npos;
    if (can_be_read_now || (has_stamp && stamp_of(skipped.file.string()) != skipped.stamp)) {
      ++changed;
    }
  }
  constexpr std::size_t kChunk = 256;
  for_each_in_parallel((index.size() + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    StampReader read_stamp;
    const std::size_t end = std::min((chunk + 1) * kChunk, index.size());
    for (std::size_t i = chunk * kChunk; i < end; ++i) {
      const auto [path, stamp] = index.file(i);
      if (read_stamp(path) != stamp) ++changed;
    }
  });
  return changed == 0 ? "" : counted(changed.load(), "file has changed", "files have changed");
}

namespace {

namespace fs = std::filesystem;

// Held by the process that scans; gone with it, however it ends.
class ScanLock {
 public:
  explicit ScanLock(const fs::path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    // Disks that know no locks lose nothing but time: files are replaced whole.
    if (file_ < 0 || flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    log_info("data", "another process is looking at the same corpus; waiting for its index");
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ScanLock(const ScanLock&) = delete;
  ScanLock& operator=(const ScanLock&) = delete;
  ~ScanLock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  int file_;
};

// An index that was there already; nothing where there was none, or with a `fault` one that cannot
// be used.
std::optional<ClipIndex> open_known(const fs::path& path, std::uint64_t key, std::string& fault) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return std::nullopt;
  try {
    ClipIndex index = ClipIndex::open(path);
    if (index.key() == key) return index;
    fault = fmt::format("The index {} is one of something else.", path.string());
  } catch (const DataError& error) {
    fault = error.what();
  }
  return std::nullopt;
}

}  // namespace

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed) return;
  throw DataError(
      fmt::format("The folder {} for the index of the corpus cannot be made: {}. Name another with "
                  "--cache-dir.",
                  folder.string(), failed.message()));
}

fs::path index_file(const fs::path& folder, const ScanRequest& request) {
  return folder / fmt::format("clips-{:016x}.index", index_key(request));
}

ClipIndex open_index(const fs::path& folder, const ScanRequest& request) {
  const fs::path path = index_file(folder, request);
  const std::uint64_t key = index_key(request);
  std::string fault;
  if (auto known = open_known(path, key, fault); known && changes_since(*known).empty()) {
    return std::move(*known);
  }
  make_folder(folder);
  const ScanLock lock(path.string() + ".lock");
  // Another process may have made it meanwhile.
  fault.clear();
  auto known = open_known(path, key, fault);
  if (!fault.empty()) log_warning("data", "{} It is made anew.", fault);
  if (known) {
    const std::string changes = changes_since(*known);
    if (changes.empty()) return std::move(*known);
    log_info("data", "{}: {}; looking at what is new", request.source.path.string(), changes);
  }
  write_file_atomically(path, make_clip_index(scan_corpus(request, known ? &*known : nullptr)));
  return ClipIndex::open(path);
}

}  // namespace myxtts
