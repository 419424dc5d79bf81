// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_maker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <ATen/ATen.h>

#include "audio/audio_file.h"
#include "base/interruption.h"

namespace myxtts {
namespace {

constexpr double kLeastPause = 0.2;              // between two words, without knowing them
constexpr double kLeastPauseOfWords = 0.08;      // where words say that it is none of theirs
constexpr double kLeastPauseOfLongUnits = 0.12;  // rather than to leave out what is too long
constexpr double kListedPause = 1.0;             // seconds from which a pause is listed
constexpr double kWordBeyond = 0.2;              // seconds by which times of words may be off
constexpr double kBesideDamage = 0.3;            // seconds before the place from which on it is
constexpr double kShortVoice = 1.0;              // seconds below which neighbours decide on a voice
constexpr std::int64_t kListenedAtOnce = 60 * kClipRate;  // samples that are listened to at once

// The levels of sound at kSpeechRate, 10 ms each; `held` is what does not fill a step yet. Rumble
// below 100 Hz does not count.
void add_levels(const at::Tensor& sound, at::Tensor& held, std::vector<float>& levels) {
  constexpr std::int64_t kStep = kSpeechRate / 100;
  held = at::cat({held, sound});
  const auto steps = held.size(0) / kStep;
  if (steps == 0) return;
  const auto power =
      held.narrow(0, 0, steps * kStep).view({steps, kStep}).var(at::IntArrayRef{1}, false);
  const auto level = (power.clamp_min(1e-10).log10() * 10.0F).contiguous();
  const auto* first = level.const_data_ptr<float>();
  levels.insert(levels.end(), first, first + steps);
  held = held.slice(0, steps * kStep).clone();
}

SoundCourse course_of(const Recording& recording, const VoiceActivity& activity,
                      const std::function<void(double)>& heard) {
  SoundCourse course;
  course.clipped = recording.clipped();
  VoiceActivity::Listener listener(activity);
  StreamResampler resample(kClipRate, kSpeechRate);
  auto held = at::empty({0});
  for (std::int64_t at = 0; at < recording.samples(); at += kListenedAtOnce) {
    stop_if_interrupted();
    const auto piece = recording.sound(at, at + kListenedAtOnce);
    auto sound = resample.add(piece);
    if (at + kListenedAtOnce >= recording.samples()) sound = at::cat({sound, resample.finish()});
    listener.add(sound);
    add_levels(sound, held, course.level);
    if (heard) heard(static_cast<double>(piece.size(0)) / static_cast<double>(kClipRate));
  }
  course.speech = listener.finish();
  return course;
}

}  // namespace

OpenedRecording open_recording(const std::filesystem::path& file,
                               const std::filesystem::path& scratch, const VoiceActivity& activity,
                               const std::function<void(double)>& heard) {
  Recording recording(file, scratch, heard);
  SoundCourse course = course_of(recording, activity, heard);
  return {std::move(recording), std::move(course)};
}

namespace {

// The speech of a recording, with pauses as short as they need to be for units that fit into clips.
std::vector<SpeechUnit> units_to_cut(const SoundCourse& course, const SpokenText& text,
                                     double longest) {
  if (!text.words.empty()) return speech_units(course, kLeastPauseOfWords);
  const auto fine = speech_units(course, kLeastPauseOfLongUnits);
  std::vector<SpeechUnit> units;
  for (const SpeechUnit& unit : speech_units(course, kLeastPause)) {
    if (unit.seconds() <= longest) {
      units.push_back(unit);
      continue;
    }
    for (const SpeechUnit& part : fine) {
      if (part.begin > unit.begin - 1e-6 && part.end < unit.end + 1e-6) units.push_back(part);
    }
  }
  return units;
}

// Makes the clips of one recording.
class ClipCutter {
 public:
  ClipCutter(const OpenedRecording& recording, const SpokenText& text, const ClipSettings& settings,
             RecordingClips& made)
      : recording_(recording.sound),
        course_(recording.course),
        text_(text),
        settings_(settings),
        made_(made),
        units_(units_of_words(
            units_to_cut(course_, text, settings.cuts.max_seconds - 2 * settings.cuts.room),
            text.words, text.longest_in_word)) {}

  void tell_voices_apart(const VoiceListener& voices);
  void find_faults();
  void cut(const CorpusFolder& folder);

 private:
  std::optional<LeftOutReason> fault_of_sound(double begin, double end) const;
  std::optional<LeftOutReason> fault_of_text(const std::optional<ClipText>& text) const;
  LeftOutReason reason_of(const CutUnit& unit, std::size_t number) const;
  void leave_out(double begin, double end, LeftOutReason reason);
  void list_pauses();
  void make(const CutClip& clip, const CorpusFolder& folder);

  const Recording& recording_;
  const SoundCourse& course_;
  const SpokenText& text_;
  const ClipSettings& settings_;
  RecordingClips& made_;
  std::vector<CutUnit> units_;
  std::map<std::size_t, LeftOutReason> faults_;  // of units
};

// A unit too short to tell is of the voice of both its neighbours, where they are of one.
void join_short_units(std::vector<CutUnit>& units) {
  for (std::size_t i = 1; i + 1 < units.size(); ++i) {
    const bool is_short = units[i].end - units[i].begin < kShortVoice;
    if (is_short && units[i - 1].voice == units[i + 1].voice) units[i].voice = units[i - 1].voice;
  }
}

void ClipCutter::tell_voices_apart(const VoiceListener& voices) {
  if (units_.empty()) return;
  const auto vectors = voices_of(voices, recording_, units_);
  std::vector<double> seconds;
  for (const CutUnit& unit : units_) seconds.push_back(unit.end - unit.begin);
  const auto groups = group_voices(vectors, seconds, settings_.speakers.likeness);
  const auto means = means_of_groups(vectors, seconds, groups).contiguous();
  for (std::int64_t group = 0; group < means.size(0); ++group) {
    const auto* first = means.const_data_ptr<float>() + group * means.size(1);
    made_.voices.push_back({.vector = {first, first + means.size(1)}});
  }
  for (std::size_t i = 0; i < units_.size(); ++i) {
    units_[i].voice = groups[i];
    made_.voices[static_cast<std::size_t>(groups[i])].seconds += seconds[i];
  }
  join_short_units(units_);
  if (settings_.speakers.several) return;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].voice == 0) continue;
    const auto row = static_cast<std::int64_t>(i);
    faults_[i] = {"other-voice",
                  fmt::format("Another voice: its likeness to that of the recording is {:.2f}.",
                              at::dot(vectors[row], means[0]).item<double>())};
  }
}

std::optional<LeftOutReason> ClipCutter::fault_of_sound(double begin, double end) const {
  const auto figures = sound_figures(course_, begin, end);
  auto fault = sound_fault(figures, settings_.sound, false);
  if (!fault || fault->name != "noise") return fault;
  const auto sound =
      recording_.sound(std::llround((begin - 1) * kClipRate), std::llround((end + 1) * kClipRate));
  return sound_fault(figures, settings_.sound, is_tonal(sound));
}

std::optional<LeftOutReason> ClipCutter::fault_of_text(const std::optional<ClipText>& text) const {
  if (!text || text->text.empty()) {
    return LeftOutReason{"no-text", "What is said here is not in the text."};
  }
  if (text->confidence < settings_.confidence.kept) {
    return LeftOutReason{"unsure",
                         fmt::format("The text is not sure: {:.0f} % of it, at least {:.0f} % are "
                                     "wanted.",
                                     100 * text->confidence, 100 * settings_.confidence.kept)};
  }
  return std::nullopt;
}

// What is wrong with a unit alone, so that its neighbours need not suffer for it.
void ClipCutter::find_faults() {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const CutUnit& unit = units_[i];
    if (faults_.contains(i)) continue;
    const bool is_cut_off = !made_.damage.empty() && unit.end > course_.seconds() - kBesideDamage;
    if (is_cut_off) {
      faults_[i] = {"damaged", "The recording is damaged from here on."};
    } else if (auto fault = fault_of_sound(unit.begin, unit.end)) {
      faults_[i] = std::move(*fault);
    } else if (!text_.between(unit.begin - kWordBeyond, unit.end + kWordBeyond)) {
      faults_[i] = *fault_of_text(std::nullopt);
    }
  }
  for (const auto& [number, reason] : faults_) units_[number].fault = reason.name;
}

LeftOutReason ClipCutter::reason_of(const CutUnit& unit, std::size_t number) const {
  if (const auto fault = faults_.find(number); fault != faults_.end()) return fault->second;
  const double seconds = unit.end - unit.begin;
  if (seconds + 2 * settings_.cuts.room > settings_.cuts.max_seconds) {
    return {"too-long", fmt::format("{:.1f} s of speech without a pause to cut at.", seconds)};
  }
  return {"too-short", fmt::format("{:.1f} s of speech with nothing beside it to join.", seconds)};
}

// Stretches that follow one another for the same reason are one.
void ClipCutter::leave_out(double begin, double end, LeftOutReason reason) {
  auto& list = made_.left_out;
  if (!list.empty() && list.back().reason.name == reason.name &&
      begin - list.back().end < kListedPause) {
    list.back().end = end;
  } else {
    list.push_back({.begin = begin, .end = end, .reason = std::move(reason)});
  }
}

void ClipCutter::list_pauses() {
  double before = 0;
  for (std::size_t i = 0; i <= units_.size(); ++i) {
    const double end = i < units_.size() ? units_[i].begin : course_.seconds();
    if (end - before >= kListedPause) {
      made_.left_out.push_back(
          {.begin = before, .end = end, .reason = kind_of_pause(course_, recording_, before, end)});
    }
    if (i < units_.size()) before = units_[i].end;
  }
}

void ClipCutter::make(const CutClip& clip, const CorpusFolder& folder) {
  MadeClip done{.name = fmt::format("{}-{:08}", made_.recording, std::llround(clip.begin * 1000)),
                .begin = clip.begin,
                .end = clip.end,
                .sound = sound_figures(course_, clip.begin, clip.end),
                .voice = units_[clip.first].voice};
  const auto text = text_.between(clip.begin, clip.end);
  auto fault = fault_of_sound(clip.begin, clip.end);
  if (!fault) fault = fault_of_text(text);
  if (fault) {
    leave_out(units_[clip.first].begin, units_[clip.first + clip.count - 1].end, std::move(*fault));
    if (text) made_.left_out.back().text = text->text;
    return;
  }
  done.text = *text;
  const auto sound = at_clip_loudness(recording_.sound(std::llround(clip.begin * kClipRate),
                                                       std::llround(clip.end * kClipRate)))
                         .contiguous();
  write_wav(folder.wav(done.name),
            std::span(sound.const_data_ptr<float>(), static_cast<std::size_t>(sound.size(0))),
            kClipRate);
  made_.clips.push_back(std::move(done));
}

void ClipCutter::cut(const CorpusFolder& folder) {
  const auto clips = plan_clips(units_, settings_.cuts, course_.seconds());
  std::size_t next = 0;
  const auto leave_out_to = [&](std::size_t end) {
    for (; next < end; ++next) {
      leave_out(units_[next].begin, units_[next].end, reason_of(units_[next], next));
    }
  };
  for (const CutClip& clip : clips) {
    stop_if_interrupted();
    leave_out_to(clip.first);
    make(clip, folder);
    next = clip.first + clip.count;
  }
  leave_out_to(units_.size());
  list_pauses();
  std::ranges::stable_sort(made_.left_out, {}, &LeftOut::begin);
  for (const CutUnit& unit : units_) made_.speech_seconds += unit.end - unit.begin;
}

}  // namespace

void cut_recording(const OpenedRecording& recording, const SpokenText& text,
                   const ClipSettings& settings, const VoiceListener* voices,
                   const CorpusFolder& folder, RecordingClips& made) {
  made.seconds = recording.sound.seconds();
  made.damage = recording.sound.damage();
  ClipCutter cutter(recording, text, settings, made);
  if (voices != nullptr) cutter.tell_voices_apart(*voices);
  cutter.find_faults();
  cutter.cut(folder);
}

}  // namespace myxtts
