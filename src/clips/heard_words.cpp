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
void cut_evenly(const SpeechUnit& unit, std::vector<CutUnit>& units) {
  const auto parts = std::max(1.0, std::ceil(unit.seconds() / (kLongestStretch - 1)));
  for (double part = 0; part < parts; ++part) {
    units.push_back({.begin = unit.begin + unit.seconds() * part / parts,
                     .end = unit.begin + unit.seconds() * (part + 1) / parts,
                     .ends_phrase = true});
  }
}

std::string line_of(double begin, const std::string& language,
                    const std::vector<TimedWord>& words) {
  WordJson list = WordJson::array();
  for (const TimedWord& word : words) {
    list.push_back({word.text, word.begin, word.end, word.probability});
  }
  return WordJson{{"begin", begin}, {"language", language}, {"words", list}}.dump(
             -1, ' ', false, WordJson::error_handler_t::replace) +
         "\n";
}

}  // namespace

std::vector<HeardStretch> stretches_to_hear(const SoundCourse& course) {
  std::vector<CutUnit> units;
  for (const SpeechUnit& unit : speech_units(course, kPauseOfStretches)) cut_evenly(unit, units);
  const CutOptions options{
      .min_seconds = 0, .max_seconds = kLongestStretch, .room = 0.3, .longest_pause = 3.0};
  std::vector<HeardStretch> stretches;
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
      if (!is_complete_) kept_.push_back(kept_of(json));
      whole += line + "\n";
    }
  }
  write_file_atomically(file_, bytes_of(whole));
}

WordKeeper::Kept WordKeeper::kept_of(const nlohmann::json& json) {
  Kept kept{.begin = json.at("begin"), .language = json.at("language")};
  for (const WordJson& word : json.at("words")) {
    kept.words.push_back({word.at(0), word.at(1), word.at(2), word.at(3)});
  }
  return kept;
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
  return std::ranges::any_of(
      kept_, [begin](const Kept& kept) { return std::abs(kept.begin - begin) < 1e-6; });
}

RecordingWords WordKeeper::words() const {
  RecordingWords result;
  std::map<std::string, std::size_t> languages;
  std::vector<const Kept*> order;
  for (const Kept& kept : kept_) order.push_back(&kept);
  std::ranges::sort(order, {}, &Kept::begin);
  for (const Kept* kept : order) {
    languages[kept->language] += kept->words.size() + 1;
    result.words.insert(result.words.end(), kept->words.begin(), kept->words.end());
  }
  if (!languages.empty()) {
    result.language = std::ranges::max_element(languages, {}, [](const auto& entry) {
                        return entry.second;
                      })->first;
  }
  return result;
}

void WordKeeper::hear(const Recording& recording, const std::vector<HeardStretch>& stretches,
                      const Transcriber& transcriber, const TranscribeOptions& options,
                      const std::function<void(double)>& heard) {
  const Resampler resample(kClipRate, kWhisperRate, at::kCPU);
  std::vector<HeardStretch> waiting;
  for (const auto& stretch : stretches) {
    if (!has(stretch.begin)) waiting.push_back(stretch);
    if (has(stretch.begin) && heard) heard(stretch.end - stretch.begin);
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
    auto transcripts = transcriber(sounds, options, [] {
      stop_if_interrupted();  // a batch takes a processor a minute
      return true;
    });
    for (std::size_t i = first; i < last; ++i) {
      auto& transcript = transcripts[i - first];
      for (TimedWord& word : transcript.words) {
        word.begin += waiting[i].begin;
        word.end += waiting[i].begin;
      }
      append(line_of(waiting[i].begin, transcript.language, transcript.words));
      kept_.push_back({waiting[i].begin, transcript.language, std::move(transcript.words)});
      if (heard) heard(waiting[i].end - waiting[i].begin);
    }
  }
  append(WordJson{{"complete", true}}.dump() + "\n");
  is_complete_ = true;
}

}  // namespace myxtts
