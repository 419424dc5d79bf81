// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_job.h"

#include <sys/stat.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "clips/subtitles.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestText = std::size_t{64} << 20U;
constexpr std::size_t kMostUnreadLetters = 300;
constexpr const char* kUnread = "unread.json";
constexpr double kLatestCue = 0.5;  // seconds that a subtitle may stay on the screen after the end

// Changes when the file does; empty where there is none.
std::string identity_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// As part of the names of clips: letters and digits of any script, without what shells, tables and
// systems take for something else.
std::string name_of_recording(const fs::path& file) {
  std::string name = file.stem().string();
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x80 || std::isalnum(byte) != 0 || c == '-' || c == '_';
    if (!is_plain) c = '-';
  }
  return name.empty() ? "recording" : name;
}

std::string fingerprint_of(const fs::path& file) {
  const std::string text = read_text_file(file, "text", kLargestText);
  FastChecksum sum;
  sum.add(bytes_of(text));
  return fmt::format("{:016x}", sum.value());
}

Json json_of(const ClipSettings& settings) {
  return {{"--min-seconds", settings.cuts.min_seconds},
          {"--max-seconds", settings.cuts.max_seconds},
          {"--min-snr", settings.sound.min_snr},
          {"--min-confidence", settings.confidence.kept},
          {"--speakers", settings.speakers.several ? "auto" : "1"},
          {"--likeness", settings.speakers.likeness}};
}

}  // namespace

ClipJob::ClipJob(std::vector<fs::path> recordings, ClipTexts texts, ClipSettings settings,
                 ClipNetworks networks, const CorpusFolder& folder)
    : texts_(std::move(texts)),
      settings_(std::move(settings)),
      networks_(std::move(networks)),
      folder_(folder) {
  std::set<std::string> names;
  for (auto& file : recordings) {
    std::string name = name_of_recording(file);
    if (!names.insert(name).second) {
      name = name_of_recording(file.parent_path().filename().string() + "-" + name);
      if (!names.insert(name).second) {
        throw ConfigError(fmt::format(
            "Two recordings are called {}; rename one, since clips are named after them.",
            file.filename().string()));
      }
    }
    sources_.push_back({std::move(file), std::move(name), {}});
  }
  MYXTTS_CHECK(texts_.subtitles.empty() || texts_.subtitles.size() == sources_.size(),
               "not every recording has its subtitles");
  MYXTTS_CHECK(networks_.recogniser != nullptr || !texts_.subtitles.empty(),
               "clips have no source of texts");
}

std::size_t ClipJob::failed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(made_, [](const auto& made) { return !made.error.empty(); }));
}

void ClipJob::fail(std::size_t number, const std::string& why) {
  if (sources_.size() > 1) {  // of a single one run() says it
    log_warning("clips", "{} is left out: {}", sources_[number].file.string(), why);
  }
  made_[number].error = why;
  is_done_[number] = true;
}

std::string ClipJob::made_from(std::size_t number) const {
  return settings_text_ + " " + sources_[number].identity;
}

// What is there of earlier runs, and what is not any more what it was.
void ClipJob::look_at_files() {
  Json all = json_of(settings_);
  all["--language"] = texts_.language;
  all["--whisper"] = networks_.recogniser_is;
  all["--speaker-model"] = networks_.voices_are_of;
  for (Source& source : sources_) source.identity = identity_of(source.file);
  if (!texts_.book.empty()) {
    all["--text"] = fingerprint_of(texts_.book);
    // A text is laid along all recordings together.
    for (const Source& source : sources_) all["recordings"].push_back(source.identity);
  }
  for (const auto& file : texts_.subtitles) all["--subtitles"].push_back(fingerprint_of(file));
  settings_text_ = all.dump();
  say_what_changed();
  made_.clear();
  is_done_.assign(sources_.size(), false);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    auto before = folder_.made(source.name);
    is_done_[i] = before && before->made_from == made_from(i);
    if (before && source.identity.empty()) {
      log_warning("clips", "{} is not there any more; its clips of an earlier run stay",
                  source.file.string());
      is_done_[i] = true;
      made_.push_back(std::move(*before));
      continue;
    }
    if (before && !is_done_[i] && !before->made_from.ends_with(" " + source.identity)) {
      log_info("clips", "{} is not what it was; its clips are made anew", source.file.string());
    }
    made_.push_back(is_done_[i] ? std::move(*before)
                                : RecordingClips{.recording = source.name,
                                                 .file = source.file.string(),
                                                 .made_from = made_from(i)});
    for (const MadeClip& clip : made_.back().clips) {
      std::error_code failed;
      is_done_[i] = is_done_[i] && fs::exists(folder_.wav(clip.name), failed);
    }
    if (source.identity.empty()) fail(i, "there is no such file.");
  }
  found_done_ = static_cast<std::size_t>(std::ranges::count(is_done_, true)) - failed();
}

void ClipJob::say_what_changed() const {
  const auto file = folder_.work() / "settings.json";
  std::error_code failed;
  if (fs::exists(file, failed)) {
    const Json before =
        Json::parse(read_text_file(file, "record of settings", kLargestText), nullptr, false);
    const Json now = Json::parse(settings_text_);
    std::vector<std::string> changed;
    for (const auto& [key, value] : now.items()) {
      if (before.is_object() && before.value(key, Json()) != value) changed.push_back(key);
    }
    if (!changed.empty()) {
      log_info("clips", "other than in the earlier run: {}; clips are made anew",
               fmt::join(changed, ", "));
    }
  }
  write_file_atomically(file, bytes_of(settings_text_ + "\n"));
}

// Null where it cannot be read, which is said.
const OpenedRecording* ClipJob::open(std::size_t number) {
  if (opened_ && opened_number_ == number) return &*opened_;
  opened_.reset();
  const Source& source = sources_[number];
  Progress progress({.title = fmt::format("Reading {} (seconds)", source.name)});
  double seconds = 0;
  try {
    opened_.emplace(
        open_recording(source.file, folder_.work(), *networks_.activity, [&](double more) {
          const auto before = std::floor(seconds);
          seconds += more / 2;  // each is read, then listened to
          progress.advance(static_cast<std::uint64_t>(std::floor(seconds) - before));
        }));
  } catch (const UnreadableRecording& error) {
    fail(number, error.what());
    return nullptr;
  }
  opened_number_ = number;
  if (!opened_->sound.damage().empty()) log_warning("clips", "{}", opened_->sound.damage());
  return &*opened_;
}

void ClipJob::hear_all() {
  words_.assign(sources_.size(), {});
  if (networks_.recogniser == nullptr) return;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    // What a book's text says of one recording depends on the others too.
    if (!made_[i].error.empty() || (is_done_[i] && texts_.book.empty())) continue;
    const auto key = fmt::format("{} {} {}", sources_[i].identity, networks_.recogniser_is,
                                 networks_.hearing.language);
    WordKeeper keeper(folder_.words(sources_[i].name), key);
    if (!keeper.is_complete()) {
      const OpenedRecording* recording = open(i);
      if (recording == nullptr) continue;
      const auto stretches = stretches_to_hear(recording->course);
      double total = 0;
      for (const auto& stretch : stretches) total += stretch.end - stretch.begin;
      Progress progress({.title = fmt::format("Hearing {} (seconds)", sources_[i].name),
                         .total = static_cast<std::uint64_t>(std::ceil(total))});
      double heard = 0;
      keeper.hear(recording->sound, stretches, *networks_.recogniser, networks_.hearing,
                  [&](double seconds) {
                    const auto before = std::floor(heard);
                    heard += seconds;
                    progress.advance(static_cast<std::uint64_t>(std::floor(heard) - before));
                  });
    }
    words_[i] = keeper.words();
  }
}

namespace {

std::string shortened(const std::string& text) {
  if (text.size() <= kMostUnreadLetters) return text;
  std::size_t end = kMostUnreadLetters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + " …";
}

std::string text_of_cues(const Subtitles& subtitles) {
  std::string text;
  for (const Subtitle& cue : subtitles.cues) text += cue.text + "\n";
  return text;
}

}  // namespace

// Texts that are given are laid along what was heard.
void ClipJob::lay_texts() {
  alignments_.assign(sources_.size(), nullptr);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (is_done_[i]) continue;
    made_[i].language = texts_.language.empty() ? words_[i].language : texts_.language;
  }
  if (networks_.recogniser == nullptr || std::ranges::all_of(is_done_, std::identity())) return;
  if (!texts_.book.empty()) lay_book();
  for (std::size_t i = 0; i < texts_.subtitles.size(); ++i) {
    if (is_done_[i] || words_[i].words.empty()) continue;
    alignments_[i] = std::make_shared<const TextAlignment>(
        text_of_cues(read_subtitles(texts_.subtitles[i])), std::vector<HeardWords>{words_[i].words},
        made_[i].language, texts_.subtitles[i].string());
  }
}

void ClipJob::lay_book() {
  std::vector<HeardWords> heard;
  for (const auto& words : words_) heard.push_back(words.words);
  const auto first = std::ranges::find_if(
      words_, [](const RecordingWords& words) { return !words.words.empty(); });
  if (first == words_.end()) return;
  const auto aligned = std::make_shared<const TextAlignment>(
      read_text_file(texts_.book, "text", kLargestText), std::move(heard),
      texts_.language.empty() ? first->language : texts_.language, texts_.book.string());
  alignments_.assign(sources_.size(), aligned);
  Json unread = Json::array();
  for (const UnreadPassage& passage : aligned->unread()) {
    unread.push_back(shortened(aligned->text().substr(passage.begin, passage.end - passage.begin)));
  }
  write_file_atomically(
      folder_.work() / kUnread,
      bytes_of(unread.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"));
}

// What a run laid along the recordings and did not find in them; empty without a text.
std::vector<std::string> ClipJob::unread() const {
  std::error_code failed;
  const auto file = folder_.work() / kUnread;
  if (texts_.book.empty() || !fs::exists(file, failed)) return {};
  const Json list = Json::parse(read_text_file(file, "record", kLargestText), nullptr, false);
  return list.is_array() ? list.get<std::vector<std::string>>() : std::vector<std::string>();
}

// Each cue stands for one long word: no cut inside, and its text belongs to where its middle is.
// What a cue says beyond the recording's end was not heard, so its text is that of no clip.
SpokenText ClipJob::text_of_subtitles(std::size_t number, double seconds) const {
  auto subtitles = read_subtitles(texts_.subtitles[number]);
  const auto beyond = std::erase_if(
      subtitles.cues, [seconds](const Subtitle& cue) { return cue.end > seconds + kLatestCue; });
  if (beyond > 0) {
    log_warning("clips", "{} goes on after the recording's end; {} left out",
                texts_.subtitles[number].string(),
                counted(static_cast<std::int64_t>(beyond), "subtitle is", "subtitles are"));
  }
  for (const auto& skipped : subtitles.skipped) {
    log_warning("clips", "{}, line {}: {}", texts_.subtitles[number].string(), skipped.line,
                skipped.reason);
  }
  SpokenText text;
  text.longest_in_word = kLongestInSubtitle;
  for (const Subtitle& cue : subtitles.cues) {
    text.words.push_back(
        {.text = " " + cue.text, .begin = cue.begin, .end = cue.end, .probability = 1.0});
  }
  text.between = [cues = text.words](double begin, double end) -> std::optional<ClipText> {
    ClipText clip{.source = TextSource::Subtitles, .confidence = 1.0};
    for (const TimedWord& cue : cues) {
      const double common = std::min(end, cue.end) - std::max(begin, cue.begin);
      if (common > std::min(cue.end - cue.begin, end - begin) / 2) clip.text += cue.text;
    }
    if (clip.text.empty()) return std::nullopt;
    clip.text.erase(0, 1);
    return clip;
  };
  return text;
}

SpokenText ClipJob::text_of(std::size_t number, double seconds) const {
  if (networks_.recogniser == nullptr) return text_of_subtitles(number, seconds);
  SpokenText text;
  text.words = words_[number].words;
  const auto recording = texts_.subtitles.empty() ? number : 0;
  if (const auto aligned = alignments_[number]) {
    const auto source = texts_.subtitles.empty() ? TextSource::Book : TextSource::Subtitles;
    text.between = [aligned, recording, source](double begin, double end) {
      auto clip = aligned->text_between(recording, begin, end);
      if (clip) clip->source = source;
      return clip;
    };
  } else {
    text.between = [words = text.words](double begin, double end) -> std::optional<ClipText> {
      auto clip = transcribed_text(words, begin, end);
      if (clip.text.empty()) return std::nullopt;
      return clip;
    };
  }
  return text;
}

void ClipJob::cut(std::size_t number) {
  const OpenedRecording* recording = open(number);
  if (recording == nullptr) return;
  cut_recording(*recording, text_of(number, recording->sound.seconds()), settings_,
                networks_.voices, folder_, made_[number]);
  folder_.keep(made_[number]);
}

CorpusFolder::Summary ClipJob::run() {
  look_at_files();
  hear_all();
  lay_texts();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (is_done_[i]) continue;
    cut(i);
  }
  if (failed() == sources_.size()) {
    throw DataError(
        sources_.size() == 1
            ? fmt::format("{} cannot be used: {}", sources_[0].file.string(), made_[0].error)
            : fmt::format("None of the {} recordings can be used; the reasons are "
                          "above.",
                          sources_.size()));
  }
  ClipsPage page{.title = folder_.path().filename().string(),
                 .language = made_.front().language,
                 .limits = settings_.confidence,
                 .unread = unread()};
  auto all = made_;
  std::vector<std::string> names;
  for (const Source& source : sources_) names.push_back(source.name);
  for (RecordingClips& other : folder_.others(names)) {
    log_info("clips", "the clips of {} are of an earlier run and stay; to take them out, remove {}",
             other.recording, (folder_.work() / (other.recording + ".clips.json")).string());
    all.push_back(std::move(other));
  }
  return folder_.publish(all, settings_.speakers, std::move(page));
}

}  // namespace myxtts
