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

using Json = nlohmann::json;

constexpr double kLongestStretch = 28.0;
constexpr double kLeastPause = 0.2;
constexpr std::size_t kLargestFile = std::size_t{1} << 30U;

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
  Json list = Json::array();
  for (const TimedWord& word : words) {
    list.push_back({word.text, word.begin, word.end, word.probability});
  }
  return Json{{"begin", begin}, {"language", language}, {"words", list}}.dump(
             -1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace

std::vector<HeardStretch> stretches_to_hear(const SoundCourse& course) {
  std::vector<CutUnit> units;
  for (const SpeechUnit& unit : speech_units(course, kLeastPause)) cut_evenly(unit, units);
  const CutOptions options{.min_seconds = 0,
                           .max_seconds = kLongestStretch,
                           .room = 0.3,
                           .longest_pause = 3.0};
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
  std::error_code failed;
  if (std::filesystem::exists(file_, failed)) {
    std::istringstream lines(read_text_file(file_, "The record of words", kLargestFile));
    std::string line;
    const auto next = [&] {
      if (!std::getline(lines, line) || lines.eof()) return Json();  // cut off within the line
      return Json::parse(line, nullptr, false);
    };
    const Json head = next();
    if (head.is_object() && head.value("key", "") == key_) {
      std::string whole = line + "\n";
      for (Json json = next(); json.is_object() && json.contains("words"); json = next()) {
        Kept kept{.begin = json.at("begin"), .language = json.at("language")};
        for (const Json& word : json.at("words")) {
          kept.words.push_back({word.at(0), word.at(1), word.at(2), word.at(3)});
        }
        kept_.push_back(std::move(kept));
        whole += line + "\n";
      }
      write_file_atomically(file_, bytes_of(whole));
      return;
    }
  }
  write_file_atomically(file_, bytes_of(Json{{"key", key_}}.dump() + "\n"));
}

void WordKeeper::keep(const Kept& kept) {
  const OpenFile file(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (file.get() < 0) {
    throw DataError(fmt::format("{} cannot be written: {}.", file_.string(),
                                std::generic_category().message(errno)));
  }
  const std::string line = line_of(kept.begin, kept.language, kept.words);
  detail::write_all(file.get(), bytes_of(line), file_);
}

const WordKeeper::Kept* WordKeeper::find(double begin) const {
  const auto found = std::ranges::find_if(
      kept_, [begin](const Kept& kept) { return std::abs(kept.begin - begin) < 1e-6; });
  return found == kept_.end() ? nullptr : &*found;
}

bool WordKeeper::has_all(const std::vector<HeardStretch>& stretches) const {
  return std::ranges::all_of(stretches, [this](const HeardStretch& stretch) {
    return find(stretch.begin) != nullptr;
  });
}

RecordingWords WordKeeper::words(const Recording& recording,
                                 const std::vector<HeardStretch>& stretches,
                                 const Transcriber& transcriber, const TranscribeOptions& options,
                                 const std::function<void(double)>& heard) {
  const Resampler resample(kClipRate, kWhisperRate, at::kCPU);
  std::vector<HeardStretch> waiting;
  for (const auto& stretch : stretches) {
    if (find(stretch.begin) == nullptr) {
      waiting.push_back(stretch);
    } else if (heard) {
      heard(stretch.end - stretch.begin);
    }
  }
  for (std::size_t first = 0; first < waiting.size();
       first += static_cast<std::size_t>(options.batch)) {
    stop_if_interrupted();
    const auto last = std::min(waiting.size(), first + static_cast<std::size_t>(options.batch));
    std::vector<at::Tensor> sounds;
    for (std::size_t i = first; i < last; ++i) {
      sounds.push_back(resample(recording.sound(std::llround(waiting[i].begin * kClipRate),
                                                std::llround(waiting[i].end * kClipRate))));
    }
    auto transcripts = transcriber(sounds, options);
    for (std::size_t i = first; i < last; ++i) {
      auto& transcript = transcripts[i - first];
      for (TimedWord& word : transcript.words) {
        word.begin += waiting[i].begin;
        word.end += waiting[i].begin;
      }
      kept_.push_back({waiting[i].begin, transcript.language, std::move(transcript.words)});
      keep(kept_.back());
      if (heard) heard(waiting[i].end - waiting[i].begin);
    }
  }
  RecordingWords result;
  std::map<std::string, std::size_t> languages;
  for (const auto& stretch : stretches) {
    const Kept& kept = *find(stretch.begin);
    languages[kept.language] += kept.words.size() + 1;
    result.words.insert(result.words.end(), kept.words.begin(), kept.words.end());
  }
  if (!languages.empty()) {
    result.language =
        std::ranges::max_element(languages, {}, [](const auto& entry) { return entry.second; })
            ->first;
  }
  return result;
}

}  // namespace myxtts
