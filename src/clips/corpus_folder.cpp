// SPDX-License-Identifier: Apache-2.0
#include "clips/corpus_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLargestRecord = std::size_t{1} << 30U;
constexpr std::size_t kLargestCorrections = 64'000'000;

bool is_ours_or_empty(const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder / "work", failed) || fs::exists(folder / "clips.json", failed)) return true;
  return fs::is_empty(folder, failed);
}

OpenFile locked(const fs::path& folder) {
  const auto path = folder / "work" / "lock";
  OpenFile file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    throw DataError(fmt::format("{} cannot be written to: {}.", folder.string(),
                                std::generic_category().message(errno)));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    throw DataError(fmt::format(
        "Another process fills {} right now. Let it end, or name another folder with --out.",
        folder.string()));
  }
  return file;
}

// A row of metadata.csv is one line, and bars part its columns.
std::string as_column(std::string text) {
  std::ranges::replace(text, '|', ',');
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  const auto first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

constexpr const char* kSettings = "settings.json";
constexpr const char* kCorrections = "corrections.json";
constexpr const char* kTaken = "corrections.taken";  // what of that file was merged already

std::string sum_of(const std::string& text) {
  FastChecksum sum;
  sum.add(bytes_of(text));
  return fmt::format("{:016x}", sum.value());
}

std::vector<Correction> read_corrections(const fs::path& file) {
  return parse_corrections(read_text_file(file, "file of corrections", kLargestCorrections),
                           file.string());
}

double likeness_of(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

// The number of the speaker of each voice of each recording, from 1 on: whoever speaks longest
// first, and each next voice is the speaker before that it is most like, or another.
std::vector<std::vector<std::size_t>> speakers_of(const std::vector<RecordingClips>& recordings,
                                                  double likeness) {
  std::vector<std::vector<std::size_t>> speakers(recordings.size());
  std::vector<std::pair<std::size_t, std::size_t>> places;  // recording, its voice
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    speakers[i].resize(recordings[i].voices.size());
    for (std::size_t v = 0; v < speakers[i].size(); ++v) places.emplace_back(i, v);
  }
  const auto voice_at = [&](const auto& place) -> const RecordingVoice& {
    return recordings[place.first].voices[place.second];
  };
  std::ranges::stable_sort(places, std::greater<>(),
                           [&](const auto& place) { return voice_at(place).seconds; });
  std::vector<const RecordingVoice*> known;
  for (const auto& place : places) {
    const RecordingVoice& voice = voice_at(place);
    std::size_t best = known.size();
    double most = likeness;
    for (std::size_t speaker = 0; speaker < known.size(); ++speaker) {
      const double alike = likeness_of(known[speaker]->vector, voice.vector);
      if (alike < most) continue;
      most = alike;
      best = speaker;
    }
    if (best == known.size()) known.push_back(&voice);
    speakers[place.first][place.second] = best + 1;
  }
  return speakers;
}

// Leaves out what is not to be kept after all.
template <typename Reason>
void leave_out_clips(RecordingClips& made, const Reason& reason_of) {
  std::erase_if(made.clips, [&](const MadeClip& clip) {
    const auto reason = reason_of(clip);
    if (!reason) return false;
    made.left_out.push_back({clip.begin, clip.end, *reason, clip.text.text});
    return true;
  });
  std::ranges::sort(made.left_out, {}, &LeftOut::begin);
}

// What holds the text already is left alone, so that nobody takes the corpus for a new one.
void write_text(const fs::path& file, std::string_view text) {
  std::error_code failed;
  if (fs::file_size(file, failed) == text.size() &&
      read_text_file(file, "file", kLargestRecord) == text) {
    return;
  }
  write_file_atomically(file, bytes_of(text));
}

Json json_of(const RecordingClips& made, const ClipCorpus& corpus) {
  Json clips = Json::array();
  for (const MadeClip& clip : made.clips) {
    Json row = {{"clip", clip.name},
                {"begin", clip.begin},
                {"end", clip.end},
                {"text", clip.text.text},
                {"text_from", name_of(clip.text.source)},
                {"confidence", clip.text.confidence},
                {"level_db", clip.sound.level},
                {"snr_db", clip.sound.snr},
                {"clipped", clip.sound.clipped},
                {"speech", clip.sound.speech}};
    if (!clip.text.doubt.empty()) row["doubt"] = clip.text.doubt;
    if (clip.text.heard != clip.text.text) row["heard"] = clip.text.heard;
    const auto speaker = corpus.speakers.find(clip.name);
    if (speaker != corpus.speakers.end()) row["speaker"] = speaker->second;
    if (corpus.corrected.contains(clip.name)) row["corrected"] = true;
    clips.push_back(std::move(row));
  }
  Json left_out = Json::array();
  for (const LeftOut& stretch : made.left_out) {
    Json row = {{"begin", stretch.begin},
                {"end", stretch.end},
                {"reason", stretch.reason.name},
                {"sentence", stretch.reason.sentence}};
    if (!stretch.text.empty()) row["text"] = stretch.text;
    left_out.push_back(std::move(row));
  }
  Json json = {{"recording", made.recording},
               {"file", made.file},
               {"seconds", made.seconds},
               {"speech_seconds", made.speech_seconds}};
  if (!made.error.empty()) json["error"] = made.error;
  if (!made.damage.empty()) json["damage"] = made.damage;
  json["clips"] = std::move(clips);
  json["left_out"] = std::move(left_out);
  return json;
}

// The folder with its parts, and nobody else in it.
OpenFile prepared(const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder, failed) && !is_ours_or_empty(folder)) {
    throw DataError(fmt::format(
        "{} holds something else than clips. Name a new folder, or one that myxtts clips filled, "
        "with --out.",
        folder.string()));
  }
  for (const auto& part : {folder, folder / "wavs", folder / "work"}) {
    fs::create_directories(part, failed);
    if (failed) {
      throw DataError(
          fmt::format("The folder {} cannot be made: {}.", part.string(), failed.message()));
    }
  }
  OpenFile lock = locked(folder);
  // A killed run leaves these behind.
  for (const auto& inside : {folder, folder / "wavs", folder / "work"}) {
    for (const auto& entry : fs::directory_iterator(inside)) {
      const auto name = entry.path().filename().string();
      if (name.starts_with(".myxtts-tmp-") || name.ends_with(".part")) {
        fs::remove(entry.path(), failed);
      }
    }
  }
  return lock;
}

}  // namespace

CorpusFolder::CorpusFolder(fs::path folder)
    : path_(std::move(folder)), is_new_(!fs::exists(path_)), lock_(prepared(path_)) {}

CorpusFolder::~CorpusFolder() {
  std::error_code failed;
  if (!is_new_ || fs::exists(path_ / "clips.json", failed)) return;
  for (const auto& entry : fs::directory_iterator(work(), failed)) {
    const auto name = entry.path().filename();
    if (name != "lock" && name != kSettings) return;  // what a later run goes on from
  }
  fs::remove_all(path_, failed);
}

fs::path CorpusFolder::wav(const std::string& clip) const {
  return path_ / "wavs" / (clip + ".wav");
}

fs::path CorpusFolder::words(const std::string& recording) const {
  return work() / (recording + ".words.jsonl");
}

// What a person said of the clips, ever: corrections.json of an earlier visit to the page was
// replaced by that of a later one, so what was taken is kept in work/.
std::vector<Correction> CorpusFolder::corrections() const {
  std::error_code failed;
  const auto kept = work() / kCorrections;
  std::vector<Correction> all;
  if (fs::exists(kept, failed)) all = read_corrections(kept);
  const auto given = path_ / kCorrections;
  if (!fs::exists(given, failed)) return all;
  const auto marker = work() / kTaken;
  const std::string sum = sum_of(read_text_file(given, "file of corrections", kLargestRecord));
  const bool is_taken =
      fs::exists(marker, failed) && read_text_file(marker, "record", kLargestRecord) == sum;
  if (is_taken) return all;
  all = merged(all, read_corrections(given));
  write_file_atomically(kept, bytes_of(to_json(all)));
  write_file_atomically(marker, bytes_of(sum));
  return all;
}

void CorpusFolder::take_corrections(const fs::path& file) const {
  const auto all = merged(corrections(), read_corrections(file));
  write_file_atomically(work() / kCorrections, bytes_of(to_json(all)));
}

std::optional<RecordingClips> CorpusFolder::made(const std::string& recording) const {
  const auto file = work() / (recording + ".clips.json");
  std::error_code failed;
  if (!fs::exists(file, failed)) return std::nullopt;
  return parse_recording_clips(read_text_file(file, "record", kLargestRecord), file.string());
}

std::vector<RecordingClips> CorpusFolder::others(const std::vector<std::string>& recordings) const {
  constexpr std::string_view kEnding = ".clips.json";
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(work())) {
    const auto name = entry.path().filename().string();
    if (name.ends_with(kEnding)) names.insert(name.substr(0, name.size() - kEnding.size()));
  }
  for (const auto& recording : recordings) names.erase(recording);
  std::vector<RecordingClips> found;
  for (const auto& name : names) found.push_back(*made(name));
  return found;
}

void CorpusFolder::keep(const RecordingClips& made) const {
  write_text(work() / (made.recording + ".clips.json"), to_json(made));
}

namespace {

// Voices other than that of the first speaker are left out.
void leave_out_others(ClipCorpus& corpus, const std::vector<std::vector<std::size_t>>& speakers) {
  for (std::size_t i = 0; i < speakers.size(); ++i) {
    leave_out_clips(
        corpus.recordings[i], [&](const MadeClip& clip) -> std::optional<LeftOutReason> {
          const auto voice = static_cast<std::size_t>(clip.voice);
          if (voice >= speakers[i].size() || speakers[i][voice] == 1) return {};
          return LeftOutReason{"other-voice", "Another voice than that of most of the recordings."};
        });
  }
}

void name_speakers(ClipCorpus& corpus, const std::vector<std::vector<std::size_t>>& speakers) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < speakers.size(); ++i) {
    for (const MadeClip& clip : corpus.recordings[i].clips) {
      const auto voice = static_cast<std::size_t>(clip.voice);
      if (voice >= speakers[i].size()) continue;
      names.insert(corpus.speakers[clip.name] = fmt::format("speaker{}", speakers[i][voice]));
    }
  }
  if (names.size() < 2) corpus.speakers.clear();
}

// A person's word on a clip that is kept.
void correct(MadeClip& clip, const Correction& correction, std::set<std::string>& corrected) {
  const bool was_heard = correction.accepted.value_or(false);  // somebody listened to it
  if (!was_heard && !correction.text) return;
  clip.text.confidence = 1;
  clip.text.doubt.clear();
  if (!correction.text) return;
  clip.text.text = *correction.text;
  corrected.insert(clip.name);
}

// Gives how many clips were rejected.
std::int64_t obey(const std::vector<Correction>& corrections, ClipCorpus& corpus) {
  std::map<std::string, const Correction*> by_clip;
  for (const Correction& correction : corrections) by_clip.emplace(correction.clip, &correction);
  auto unknown = by_clip;
  std::int64_t rejected = 0;
  for (RecordingClips& made : corpus.recordings) {
    for (const MadeClip& clip : made.clips) unknown.erase(clip.name);
    leave_out_clips(made, [&](const MadeClip& clip) -> std::optional<LeftOutReason> {
      const auto found = by_clip.find(clip.name);
      if (found == by_clip.end() || found->second->accepted.value_or(true)) return std::nullopt;
      ++rejected;
      return LeftOutReason{"rejected", "It was rejected on the page."};
    });
    for (MadeClip& clip : made.clips) {
      const auto found = by_clip.find(clip.name);
      if (found != by_clip.end()) correct(clip, *found->second, corpus.corrected);
    }
  }
  if (!unknown.empty()) {
    log_warning("clips", "corrections.json speaks of {} that there {} not any more, {} among them",
                counted(std::ssize(unknown), "clip"), unknown.size() == 1 ? "is" : "are",
                printable(unknown.begin()->first));
  }
  return rejected;
}

CorpusFolder::Summary summary_of(const ClipCorpus& corpus, std::int64_t rejected) {
  CorpusFolder::Summary summary{.corrected = std::ssize(corpus.corrected), .rejected = rejected};
  std::map<std::string, double> reasons;
  for (const RecordingClips& made : corpus.recordings) {
    for (const MadeClip& clip : made.clips) {
      const bool is_sure = clip.text.confidence >= kSureConfidence && clip.text.doubt.empty();
      ++summary.clips;
      summary.seconds += clip.end - clip.begin;
      summary.to_check += !is_sure && !corpus.corrected.contains(clip.name);
    }
    for (const LeftOut& stretch : made.left_out) {
      reasons[stretch.reason.name] += stretch.end - stretch.begin;
    }
  }
  summary.left_out.assign(reasons.begin(), reasons.end());
  std::ranges::sort(summary.left_out, std::greater<>(), &std::pair<std::string, double>::second);
  return summary;
}

void write_tables(const fs::path& folder, const ClipCorpus& corpus) {
  std::string metadata;
  std::string speakers;
  for (const RecordingClips& made : corpus.recordings) {
    for (const MadeClip& clip : made.clips) {
      const auto text = as_column(clip.text.text);
      metadata += fmt::format("{}|{}|{}\n", clip.name, text, text);
      const auto speaker = corpus.speakers.find(clip.name);
      if (speaker != corpus.speakers.end()) {
        speakers += fmt::format("{}|{}\n", clip.name, speaker->second);
      }
    }
  }
  write_text(folder / "metadata.csv", metadata);
  std::error_code failed;
  if (speakers.empty()) {
    fs::remove(folder / "speakers.csv", failed);
  } else {
    write_text(folder / "speakers.csv", speakers);
  }
}

void write_list(const fs::path& folder, const ClipCorpus& corpus) {
  Json rows = Json::array();
  for (const RecordingClips& made : corpus.recordings) rows.push_back(json_of(made, corpus));
  const Json all = {{"format", "myxtts-clips"}, {"version", 1}, {"recordings", rows}};
  write_text(folder / "clips.json", all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::set<std::string> sounds_of(const std::vector<RecordingClips>& recordings) {
  std::set<std::string> names;
  for (const RecordingClips& made : recordings) {
    for (const MadeClip& clip : made.clips) names.insert(clip.name + ".wav");
  }
  return names;
}

void remove_all_but(const std::set<std::string>& names, const fs::path& wavs) {
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(wavs)) {
    if (!names.contains(entry.path().filename().string())) others.push_back(entry.path());
  }
  std::error_code failed;
  for (const auto& other : others) fs::remove(other, failed);
}

}  // namespace

CorpusFolder::Summary CorpusFolder::publish(ClipCorpus corpus, const SpeakerRule& rule) const {
  const auto sounds = sounds_of(corpus.recordings);  // of clips that are left out now as well
  const auto speakers = speakers_of(corpus.recordings, rule.likeness);
  if (rule.several) {
    name_speakers(corpus, speakers);
  } else {
    leave_out_others(corpus, speakers);
  }
  const auto rejected = obey(corrections(), corpus);
  write_tables(path_, corpus);
  write_list(path_, corpus);
  write_clips_page(path_ / "clips.html", corpus);
  remove_all_but(sounds, path_ / "wavs");
  return summary_of(corpus, rejected);
}

}  // namespace myxtts
