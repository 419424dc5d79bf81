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
          {"--min-snr", settings.min_snr},
          {"--min-confidence", settings.min_confidence},
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
  MYXTTS_CHECK(texts_.subtitles.empty() || texts_.subtitles.size() == recordings.size(),
               "not every recording has its subtitles");
  MYXTTS_CHECK(networks_.recogniser != nullptr || !texts_.subtitles.empty(),
               "clips have no source of texts");
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
    const auto number = sources_.size();
    sources_.push_back({.file = std::move(file), .name = std::move(name)});
    if (!texts_.subtitles.empty()) sources_.back().subtitles = texts_.subtitles[number];
  }
}

std::size_t ClipJob::failed() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sources_, [](const Source& source) { return !source.made.error.empty(); }));
}

double ClipJob::seconds() const {
  double sum = 0;
  for (const Source& source : sources_) sum += source.made.seconds;
  return sum;
}

double ClipJob::speech_seconds() const {
  double sum = 0;
  for (const Source& source : sources_) sum += source.made.speech_seconds;
  return sum;
}

std::string ClipJob::made_from(const Source& source) const {
  return settings_text_ + " " + source.identity;
}

// What changes what is made of a recording, as JSON.
std::string ClipJob::settings_now() const {
  Json all = json_of(settings_);
  all["--language"] = texts_.language;
  all["--whisper"] = networks_.recogniser_is;
  all["--speaker-model"] = networks_.voices_are_of;
  if (!texts_.book.empty()) {
    all["--text"] = fingerprint_of(texts_.book);
    // A text is laid along all recordings together.
    for (const Source& source : sources_) all["recordings"].push_back(source.identity);
  }
  for (const auto& file : texts_.subtitles) all["--subtitles"].push_back(fingerprint_of(file));
  return all.dump();
}

// What is there of earlier runs, and what is not any more what it was.
void ClipJob::look_at_files() {
  for (Source& source : sources_) source.identity = identity_of(source.file);
  settings_text_ = settings_now();
  say_what_changed();
  for (Source& source : sources_) look_at(source);
  found_done_ =
      static_cast<std::size_t>(std::ranges::count(sources_, true, &Source::is_done)) - failed();
}

void ClipJob::look_at(Source& source) const {
  auto before = folder_.made(source.name);
  source.is_done = before && before->made_from == made_from(source);
  if (before && source.identity.empty()) {
    log_warning("clips", "{} is not there any more; its clips of an earlier run stay",
                source.file.string());
    source.is_done = true;
    source.made = std::move(*before);
    return;
  }
  if (before && !source.is_done && !before->made_from.ends_with(" " + source.identity)) {
    log_info("clips", "{} is not what it was; its clips are made anew", source.file.string());
  }
  source.made = source.is_done ? std::move(*before)
                               : RecordingClips{.recording = source.name,
                                                .file = source.file.string(),
                                                .made_from = made_from(source)};
  for (const MadeClip& clip : source.made.clips) {
    std::error_code failed;
    source.is_done = source.is_done && fs::exists(folder_.wav(clip.name), failed);
  }
  if (source.identity.empty())
    give_up(source, fmt::format("There is no {}.", source.file.string()));
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

// Of several recordings each is named at once; of one alone the end says it.
void ClipJob::give_up(Source& source, const std::string& why) const {
  if (sources_.size() > 1) log_warning("clips", "{} It is left out.", why);
  source.made.error = why;
  source.is_done = true;
}

// Null where it cannot be read, which is said.
const Recording* ClipJob::open(Source& source) {
  if (opened_ && opened_source_ == &source) return &*opened_;
  opened_.reset();
  Progress progress({.title = fmt::format("Reading {} (seconds)", source.name)});
  double seconds = 0;
  const auto heard = [&](double more) {
    const auto before = std::floor(seconds);
    seconds += more / 2;  // each is read, then listened to
    progress.advance(static_cast<std::uint64_t>(std::floor(seconds) - before));
  };
  try {
    opened_.emplace(source.file, folder_.work(), heard);
  } catch (const UnreadableRecording& error) {
    give_up(source, error.what());
    return nullptr;
  }
  opened_->listen(*networks_.activity, heard);
  opened_source_ = &source;
  if (!opened_->damage().empty()) log_warning("clips", "{}", opened_->damage());
  return &*opened_;
}

void ClipJob::hear_all() {
  if (networks_.recogniser == nullptr) return;
  for (Source& source : sources_) {
    // What a book's text says of one recording depends on the others too.
    if (!source.made.error.empty() || (source.is_done && texts_.book.empty())) continue;
    hear(source);
  }
}

void ClipJob::hear(Source& source) {
  const auto key =
      fmt::format("{} {} {}", source.identity, networks_.recogniser_is, networks_.hearing.language);
  WordKeeper keeper(folder_.words(source.name), key);
  if (!keeper.is_complete()) {
    const Recording* const recording = open(source);
    if (recording == nullptr) return;
    const auto stretches = stretches_to_hear(recording->course());
    double total = 0;
    for (const Stretch& stretch : stretches) total += stretch.seconds();
    Progress progress({.title = fmt::format("Hearing {} (seconds)", source.name),
                       .total = static_cast<std::uint64_t>(std::ceil(total))});
    double heard = 0;
    keeper.hear(*recording, stretches, *networks_.recogniser, networks_.hearing,
                [&](double seconds) {
                  const auto before = std::floor(heard);
                  heard += seconds;
                  progress.advance(static_cast<std::uint64_t>(std::floor(heard) - before));
                });
  }
  source.words = keeper.words();
}

// Texts that are given are laid along what was heard.
void ClipJob::lay_texts() {
  for (Source& source : sources_) {
    if (source.is_done) continue;
    source.made.language = texts_.language.empty() ? source.words.language : texts_.language;
  }
  const bool is_all_done = std::ranges::all_of(sources_, &Source::is_done);
  if (networks_.recogniser == nullptr || is_all_done) return;
  if (!texts_.book.empty()) lay_book();
  for (Source& source : sources_) {
    if (source.subtitles.empty() || source.is_done || source.words.words.empty()) continue;
    source.alignment = std::make_shared<const TextAlignment>(
        text_of(read_subtitles(source.subtitles)), std::vector<HeardWords>{source.words.words},
        source.made.language, source.subtitles.string());
  }
}

namespace {

std::string shortened(const std::string& text) {
  if (text.size() <= kMostUnreadLetters) return text;
  std::size_t end = kMostUnreadLetters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end) + " …";
}

}  // namespace

void ClipJob::lay_book() {
  std::vector<HeardWords> heard;
  std::string language = texts_.language;
  for (const Source& source : sources_) {
    heard.push_back(source.words.words);
    if (language.empty() && !source.words.words.empty()) language = source.words.language;
  }
  if (std::ranges::all_of(heard, &HeardWords::empty)) return;
  const auto aligned =
      std::make_shared<const TextAlignment>(read_text_file(texts_.book, "text", kLargestText),
                                            std::move(heard), language, texts_.book.string());
  for (Source& source : sources_) source.alignment = aligned;
  Json unread = Json::array();
  for (const std::string& passage : aligned->unread()) unread.push_back(shortened(passage));
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
SpokenText ClipJob::spoken_subtitles(const Source& source, double seconds) const {
  auto subtitles = read_subtitles(source.subtitles);
  const auto beyond = std::erase_if(
      subtitles.cues, [seconds](const Subtitle& cue) { return cue.end > seconds + kLatestCue; });
  if (beyond > 0) {
    log_warning("clips", "{} goes on after the recording's end; {} left out",
                source.subtitles.string(),
                counted(static_cast<std::int64_t>(beyond), "subtitle is", "subtitles are"));
  }
  for (const auto& skipped : subtitles.skipped) {
    log_warning("clips", "{}, {}", source.subtitles.string(), skipped);
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

SpokenText ClipJob::spoken_text(const Source& source, double seconds) const {
  if (networks_.recogniser == nullptr) return spoken_subtitles(source, seconds);
  SpokenText text;
  text.words = source.words.words;
  if (const auto aligned = source.alignment) {
    const bool is_book = source.subtitles.empty();
    const auto recording = is_book ? static_cast<std::size_t>(&source - sources_.data()) : 0;
    text.between = [=](double begin, double end) {
      auto clip = aligned->text_between(recording, begin, end);
      if (clip && !is_book) clip->source = TextSource::Subtitles;
      return clip;
    };
    return text;
  }
  text.between = [words = text.words](double begin, double end) -> std::optional<ClipText> {
    auto clip = transcribed_text(words, begin, end);
    if (clip.text.empty()) return std::nullopt;
    return clip;
  };
  return text;
}

void ClipJob::cut(Source& source) {
  const Recording* const recording = open(source);
  if (recording == nullptr) return;
  cut_recording(*recording, spoken_text(source, recording->seconds()), settings_, networks_.voices,
                folder_, source.made);
  folder_.keep(source.made);
}

CorpusFolder::Summary ClipJob::run() {
  look_at_files();
  hear_all();
  lay_texts();
  for (Source& source : sources_) {
    if (!source.is_done) cut(source);
  }
  if (failed() == sources_.size()) {
    throw DataError(
        sources_.size() == 1
            ? sources_.front().made.error
            : fmt::format("None of the {} recordings can be used; the reasons are above.",
                          sources_.size()));
  }
  ClipCorpus corpus{.title = folder_.path().filename().string(),
                    .language = sources_.front().made.language,
                    .min_confidence = settings_.min_confidence,
                    .unread = unread()};
  std::vector<std::string> names;
  for (const Source& source : sources_) {
    corpus.recordings.push_back(source.made);
    names.push_back(source.name);
  }
  for (RecordingClips& other : folder_.others(names)) {
    log_info("clips", "the clips of {} are of an earlier run and stay; to take them out, remove {}",
             other.recording, (folder_.work() / (other.recording + ".clips.json")).string());
    corpus.recordings.push_back(std::move(other));
  }
  return folder_.publish(std::move(corpus), settings_.speakers);
}

}  // namespace myxtts
