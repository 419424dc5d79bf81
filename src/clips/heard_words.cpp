// SPDX-License-Identifier: Apache-2.0
#include "clips/heard_words.h"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "audio/resample.h"
#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "clips/cuts.h"
#include "listen/whisper.h"

namespace myxtts {
namespace {

using WordJson = nlohmann::json;

constexpr double kLongestStretch = 28.0;
constexpr double kPauseOfStretches = 0.2;
constexpr std::size_t kLargestWords = std::size_t{1} << 30U;

// A stretch that is longer, cut into even parts: there is no better place.
void cut_evenly(const Stretch& unit, std::vector<CutUnit>& units) {
  const auto parts = std::max(1.0, std::ceil(unit.seconds() / (kLongestStretch - 1)));
  for (double part = 0; part < parts; ++part) {
    units.push_back({.begin = unit.begin + unit.seconds() * part / parts,
                     .end = unit.begin + unit.seconds() * (part + 1) / parts,
                     .ends_phrase = true});
  }
}

// Whisper that is told another language than is spoken writes a translation, and is sure of it.
void warn_of_language(const std::vector<Transcript>& transcripts, const std::string& recording) {
  std::map<std::string, std::ptrdiff_t> others;
  for (const Transcript& transcript : transcripts) {
    if (transcript.sounds_like != transcript.language) ++others[transcript.sounds_like];
  }
  for (const auto& [language, count] : others) {
    if (2 * count <= std::ssize(transcripts)) continue;
    const std::string& given = transcripts.front().language;
    log_warning("clips",
                "{} sounds like {} in {} of {}, and --language says {}: its texts may be "
                "translations. Type --language {}, or leave it out.",
                recording, language, count,
                counted(std::ssize(transcripts), "stretch", "stretches"), given, language);
  }
}

std::string line_of(double begin, const RecordingWords& said) {
  WordJson list = WordJson::array();
  for (const TimedWord& word : said.words) {
    list.push_back({word.text, word.begin, word.end, word.probability});
  }
  return WordJson{{"begin", begin}, {"language", said.language}, {"words", list}}.dump(
             -1, ' ', false, WordJson::error_handler_t::replace) +
         "\n";
}

RecordingWords words_of_line(const WordJson& json) {
  RecordingWords said{.language = json.at("language")};
  for (const WordJson& word : json.at("words")) {
    said.words.push_back({word.at(0), word.at(1), word.at(2), word.at(3)});
  }
  return said;
}

}  // namespace

std::vector<Stretch> stretches_to_hear(const SoundCourse& course) {
  std::vector<CutUnit> units;
  for (const Stretch& unit : speech_units(course, kPauseOfStretches)) cut_evenly(unit, units);
  const CutOptions options{
      .min_seconds = 0, .max_seconds = kLongestStretch, .room = 0.3, .longest_pause = 3.0};
  std::vector<Stretch> stretches;
  for (const CutClip& clip : plan_clips(units, options, course.seconds())) {
    stretches.push_back({clip.begin, clip.end});
  }
  return stretches;
}

WordKeeper::WordKeeper(std::filesystem::path file, std::string key)
    : file_(std::move(file)), key_(std::move(key)) {
  read();
}

std::string WordKeeper::head() const {
  return WordJson{{"key", key_}}.dump() + "\n";
}

void WordKeeper::read() {
  std::string whole = head();
  std::error_code failed;
  if (std::filesystem::exists(file_, failed)) {
    std::istringstream lines(read_text_file(file_, "record of words", kLargestWords));
    std::string line;
    // An object; nothing at the end, or in a line that was cut off.
    const auto next = [&] {
      const bool is_whole = std::getline(lines, line) && !lines.eof();
      return is_whole ? WordJson::parse(line, nullptr, false) : WordJson();
    };
    const WordJson head = next();
    const bool is_same = head.is_object() && head.value("key", "") == key_;
    for (WordJson json = is_same ? next() : WordJson(); json.is_object(); json = next()) {
      is_complete_ = json.contains("complete");
      if (!is_complete_) kept_.emplace(json.at("begin").get<double>(), words_of_line(json));
      whole += line + "\n";
    }
  }
  write_file_atomically(file_, bytes_of(whole));
}

void WordKeeper::append(const std::string& lines) const {
  const OpenFile file(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) {
    throw DataError(fmt::format("{} cannot be written: {}.", file_.string(),
                                std::generic_category().message(errno)));
  }
  detail::write_all(file.get(), bytes_of(lines), file_);
}

RecordingWords WordKeeper::words() const {
  RecordingWords result;
  std::map<std::string, std::size_t> languages;
  for (const auto& [begin, said] : kept_) {
    languages[said.language] += said.words.size() + 1;
    result.words.insert(result.words.end(), said.words.begin(), said.words.end());
  }
  if (languages.empty()) return result;
  const auto most =
      std::ranges::max_element(languages, {}, [](const auto& entry) { return entry.second; });
  result.language = most->first;
  return result;
}

void WordKeeper::forget(std::span<const Stretch> batch) {
  const auto count = kept_.size();
  for (const Stretch& stretch : batch) kept_.erase(stretch.begin);
  if (kept_.size() == count) return;
  std::string whole = head();
  for (const auto& [begin, said] : kept_) whole += line_of(begin, said);
  write_file_atomically(file_, bytes_of(whole));
}

// The same batches however often it is interrupted: what is heard of a stretch depends in its last
// digits on those beside it.
void WordKeeper::hear(const Recording& recording, const std::vector<Stretch>& stretches,
                      const Transcriber& transcriber, const TranscribeOptions& options,
                      const std::function<void(double)>& heard) {
  const auto at_once = static_cast<std::size_t>(options.batch);
  for (std::size_t first = 0; first < stretches.size(); first += at_once) {
    stop_if_interrupted();
    const auto batch =
        std::span(stretches).subspan(first, std::min(at_once, stretches.size() - first));
    const auto is_kept = [&](const Stretch& stretch) { return kept_.contains(stretch.begin); };
    if (!std::ranges::all_of(batch, is_kept)) {
      forget(batch);
      TranscribeOptions asked = options;
      asked.sounds_like = first == 0 && !options.language.empty();
      hear_batch(recording, batch, transcriber, asked);
    }
    for (const Stretch& stretch : batch) {
      if (heard) heard(stretch.seconds());
    }
  }
  append(WordJson{{"complete", true}}.dump() + "\n");
  is_complete_ = true;
}

void WordKeeper::hear_batch(const Recording& recording, std::span<const Stretch> batch,
                            const Transcriber& transcriber, const TranscribeOptions& options) {
  const Resampler resample(kClipRate, kWhisperRate, at::kCPU);
  std::vector<at::Tensor> sounds;
  for (const Stretch& stretch : batch) {
    sounds.push_back(resample(recording.sound(std::llround(stretch.begin * kClipRate),
                                              std::llround(stretch.end * kClipRate))));
  }
  auto transcripts = transcriber(sounds, options, [] {
    stop_if_interrupted();  // a batch takes a processor a minute
    return true;
  });
  if (options.sounds_like) warn_of_language(transcripts, recording.path().string());
  std::string lines;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Transcript& transcript = transcripts[i];
    for (TimedWord& word : transcript.words) {
      word.begin += batch[i].begin;
      word.end += batch[i].begin;
    }
    RecordingWords said{std::move(transcript.language), std::move(transcript.words)};
    lines += line_of(batch[i].begin, said);
    kept_.emplace(batch[i].begin, std::move(said));
  }
  append(lines);
}

}  // namespace myxtts
