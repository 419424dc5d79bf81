// SPDX-License-Identifier: Apache-2.0
#include "clips/heard_words.h"

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
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

void WordKeeper::read() {
  std::string whole = WordJson{{"key", key_}}.dump() + "\n";
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

void WordKeeper::append(const std::string& line) const {
  const OpenFile file(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) {
    throw DataError(fmt::format("{} cannot be written: {}.", file_.string(),
                                std::generic_category().message(errno)));
  }
  detail::write_all(file.get(), bytes_of(line), file_);
}

bool WordKeeper::has(double begin) const {
  constexpr double kSame = 1e-6;
  const auto found = kept_.lower_bound(begin - kSame);
  return found != kept_.end() && found->first < begin + kSame;
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

void WordKeeper::hear(const Recording& recording, const std::vector<Stretch>& stretches,
                      const Transcriber& transcriber, const TranscribeOptions& options,
                      const std::function<void(double)>& heard) {
  const Resampler resample(kClipRate, kWhisperRate, at::kCPU);
  std::vector<Stretch> waiting;
  for (const auto& stretch : stretches) {
    if (!has(stretch.begin)) waiting.push_back(stretch);
    if (has(stretch.begin) && heard) heard(stretch.seconds());
  }
  const auto at_once = static_cast<std::size_t>(options.batch);
  for (std::size_t first = 0; first < waiting.size(); first += at_once) {
    stop_if_interrupted();
    const auto last = std::min(waiting.size(), first + at_once);
    std::vector<at::Tensor> sounds;
    for (std::size_t i = first; i < last; ++i) {
      sounds.push_back(resample(recording.sound(std::llround(waiting[i].begin * kClipRate),
                                                std::llround(waiting[i].end * kClipRate))));
    }
    TranscribeOptions asked = options;
    asked.sounds_like = first == 0 && !options.language.empty();
    auto transcripts = transcriber(sounds, asked, [] {
      stop_if_interrupted();  // a batch takes a processor a minute
      return true;
    });
    if (asked.sounds_like) warn_of_language(transcripts, recording.path().string());
    for (std::size_t i = first; i < last; ++i) {
      auto& transcript = transcripts[i - first];
      for (TimedWord& word : transcript.words) {
        word.begin += waiting[i].begin;
        word.end += waiting[i].begin;
      }
      RecordingWords said{std::move(transcript.language), std::move(transcript.words)};
      append(line_of(waiting[i].begin, said));
      kept_.emplace(waiting[i].begin, std::move(said));
      if (heard) heard(waiting[i].seconds());
    }
  }
  append(WordJson{{"complete", true}}.dump() + "\n");
  is_complete_ = true;
}

}  // namespace myxtts
