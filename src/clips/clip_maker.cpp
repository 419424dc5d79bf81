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

// --- The checks of their sound --------------------------------------------------------------

namespace {

constexpr double kAround = 4.0;         // seconds on each side in which silence is looked for
constexpr double kBelowLoudest = 25.0;  // dB: what is as loud as that is voice
constexpr double kSilentLevel = -60.0;  // dB of full scale
// What a clip must have to be kept.
constexpr double kMostClipped = 0.002;  // share of samples at full scale
constexpr double kLeastLevel = -55.0;   // dB of full scale, of the voice
constexpr double kLeastSpeech = 0.6;    // mean probability of speech where it is loud
constexpr double kTonal = -2.5;         // dB; noise is at -0.4, held tones below -4
constexpr double kLongestLook = 10.0;   // seconds
constexpr double kPeak = 0.891;         // -1 dB

// The steps of `values` between two times, from the first to behind the last.
std::pair<std::size_t, std::size_t> steps_between(const std::vector<float>& values, double begin,
                                                  double end) {
  const auto size = static_cast<double>(values.size());
  const auto first = std::clamp(std::round(begin / kLevelStep), 0.0, size);
  const auto last = std::clamp(std::round(end / kLevelStep), first, size);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

double decibels(double power) {
  return 10.0 * std::log10(std::max(power, 1e-10));
}

}  // namespace

SoundFigures sound_figures(const SoundCourse& course, double begin, double end) {
  SoundFigures figures;
  const double least = loud_level(course, begin, end) - kBelowLoudest;
  const auto [first, last] = steps_between(course.level, begin, end);
  double power = 0;
  double speech = 0;
  double clipped = 0;
  std::size_t loud = 0;
  for (std::size_t step = first; step < last; ++step) {
    if (step < course.clipped.size()) clipped += course.clipped[step];
    if (course.level[step] < least) continue;
    ++loud;
    power += std::pow(10.0, course.level[step] / 10.0);
    const auto window =
        static_cast<std::size_t>(static_cast<double>(step) * kLevelStep / kSpeechStep);
    if (window < course.speech.size()) speech += course.speech[window];
  }
  if (loud == 0) return {.level = kQuietest, .snr = 0, .clipped = 0, .speech = 0};
  figures.level = decibels(power / static_cast<double>(loud));
  figures.snr = figures.level - quiet_level(course, begin - kAround, end + kAround);
  figures.speech = speech / static_cast<double>(loud);
  figures.clipped = clipped / static_cast<double>(last - first);
  return figures;
}

std::optional<LeftOutReason> sound_fault(const SoundFigures& figures, double min_snr,
                                         bool is_tonal) {
  if (figures.level < kLeastLevel) {
    return LeftOutReason{"silence",
                         fmt::format("What is heard is at {:.0f} dB of full scale; a voice is "
                                     "expected at {:.0f} dB or above.",
                                     figures.level, kLeastLevel)};
  }
  if (figures.clipped > kMostClipped) {
    return LeftOutReason{"clipping", fmt::format("{:.1f} % of its samples stand at full scale; at "
                                                 "most {:.1f} % may.",
                                                 100 * figures.clipped, 100 * kMostClipped)};
  }
  if (figures.speech < kLeastSpeech) {
    return LeftOutReason{is_tonal ? "music" : "noise",
                         fmt::format("It may be no speech: its probability is {:.2f}, at least "
                                     "{:.2f} is wanted.",
                                     figures.speech, kLeastSpeech)};
  }
  if (figures.snr < min_snr) {
    return LeftOutReason{
        is_tonal ? "music" : "noise",
        fmt::format("The voice is {:.0f} dB above {}; at least {:.0f} dB are wanted.", figures.snr,
                    is_tonal ? "the music" : "the noise", min_snr)};
  }
  return std::nullopt;
}

// Noise, averaged over eight frames, is nearly even from bin to bin; held tones stand out of the
// bins around them. So the mean logarithm of each bin against its neighbours tells them apart.
bool is_tonal(const at::Tensor& sound) {
  constexpr std::int64_t kSize = 2048;
  constexpr std::int64_t kFirst = 19;   // bins; 200 Hz, above the hum and its first harmonics
  constexpr std::int64_t kCount = 440;  // up to 4,900 Hz
  constexpr std::int64_t kAtOnce = 8;
  if (sound.size(0) < kSize * 3) return false;
  const auto power =
      at::stft(sound, kSize, kSize / 4, kSize, at::hann_window(kSize), false, false, true, true)
          .abs()
          .square()
          .narrow(0, kFirst, kCount)
          .t();  // [frames, bins]
  const auto groups = power.size(0) / kAtOnce;
  if (groups == 0) return false;
  const auto mean = power.narrow(0, 0, groups * kAtOnce).view({groups, kAtOnce, kCount}).mean(1);
  const auto around = at::avg_pool1d(mean.unsqueeze(1), 41, 1, 20, false, false).squeeze(1);
  const auto ratio = (mean.clamp_min(1e-12).log10() - around.clamp_min(1e-12).log10()) * 10.0;
  return ratio.mean(1).median().item<double>() < kTonal;
}

at::Tensor at_clip_loudness(const at::Tensor& sound) {
  constexpr std::int64_t kStep = kClipRate / 100;
  const auto steps = sound.size(0) / kStep;
  if (steps == 0) return sound;
  const auto power = sound.narrow(0, 0, steps * kStep).view({steps, kStep}).square().mean(1);
  const auto least = power.max() * std::pow(10.0, -kBelowLoudest / 10.0);
  const double loudness = decibels(power.masked_select(power >= least).mean().item<double>());
  const double peak = sound.abs().max().item<double>();
  const double gain = std::pow(10.0, (kClipLoudness - loudness) / 20.0);
  return sound * std::min(gain, kPeak / std::max(peak, 1e-6));
}

// --- The clips of a recording ---------------------------------------------------------------

namespace {

constexpr double kLeastPause = 0.2;              // between two words, without knowing them
constexpr double kLeastPauseOfWords = 0.08;      // where words say that it is none of theirs
constexpr double kLeastPauseOfLongUnits = 0.12;  // rather than to leave out what is too long
constexpr double kListedPause = 1.0;             // seconds from which a pause is listed
constexpr double kWordBeyond = 0.2;              // seconds by which times of words may be off
constexpr double kBesideDamage = 0.3;            // seconds before the place from which on it is
constexpr double kShortVoice = 1.0;              // seconds below which neighbours decide on a voice

// The speech of a recording, with pauses as short as they need to be for units that fit into clips.
std::vector<Stretch> units_to_cut(const SoundCourse& course, const SpokenText& text,
                                  double longest) {
  if (!text.words.empty()) return speech_units(course, kLeastPauseOfWords);
  const auto fine = speech_units(course, kLeastPauseOfLongUnits);
  std::vector<Stretch> units;
  for (const Stretch& unit : speech_units(course, kLeastPause)) {
    if (unit.seconds() <= longest) {
      units.push_back(unit);
      continue;
    }
    for (const Stretch& part : fine) {
      if (part.begin > unit.begin - 1e-6 && part.end < unit.end + 1e-6) units.push_back(part);
    }
  }
  return units;
}

// Makes the clips of one recording.
class ClipCutter {
 public:
  ClipCutter(const Recording& recording, const SpokenText& text, const ClipSettings& settings,
             RecordingClips& made)
      : recording_(recording),
        course_(recording.course()),
        voice_level_(loud_level(course_, 0, course_.seconds())),
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
  LeftOutReason kind_of_pause(double begin, double end) const;
  void leave_out(double begin, double end, LeftOutReason reason);
  void list_pauses();
  void make(const CutClip& clip, const CorpusFolder& folder);

  const Recording& recording_;
  const SoundCourse& course_;
  const double voice_level_;  // dB, of the whole recording
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
  auto fault = sound_fault(figures, settings_.min_snr, false);
  if (!fault || fault->name != "noise") return fault;
  const auto sound =
      recording_.sound(std::llround((begin - 1) * kClipRate), std::llround((end + 1) * kClipRate));
  return sound_fault(figures, settings_.min_snr, is_tonal(sound));
}

std::optional<LeftOutReason> ClipCutter::fault_of_text(const std::optional<ClipText>& text) const {
  if (!text || text->text.empty()) {
    return LeftOutReason{"no-text", "What is said here is not in the text."};
  }
  if (text->confidence < settings_.min_confidence) {
    return LeftOutReason{"unsure",
                         fmt::format("The text is not sure: {:.0f} % of it, at least {:.0f} % are "
                                     "wanted.",
                                     100 * text->confidence, 100 * settings_.min_confidence)};
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

// What a stretch without speech is: silence, music or noise.
LeftOutReason ClipCutter::kind_of_pause(double begin, double end) const {
  constexpr double kBelowVoice = 40.0;  // dB
  if (loud_level(course_, begin, end) < std::max(kSilentLevel, voice_level_ - kBelowVoice)) {
    return {"silence", fmt::format("Nobody speaks for {:.1f} s.", end - begin)};
  }
  const double middle = (begin + end) / 2;
  const double from = std::max(begin, middle - kLongestLook / 2);
  const double to = std::min(end, middle + kLongestLook / 2);
  const auto sound = recording_.sound(std::llround(from * kClipRate), std::llround(to * kClipRate));
  const bool music = is_tonal(sound);
  return {music ? "music" : "noise",
          fmt::format("{} without speech for {:.1f} s.", music ? "Music" : "Noise", end - begin)};
}

void ClipCutter::list_pauses() {
  double before = 0;
  for (std::size_t i = 0; i <= units_.size(); ++i) {
    const double end = i < units_.size() ? units_[i].begin : course_.seconds();
    if (end - before >= kListedPause) {
      made_.left_out.push_back({.begin = before, .end = end, .reason = kind_of_pause(before, end)});
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

void cut_recording(const Recording& recording, const SpokenText& text, const ClipSettings& settings,
                   const VoiceListener* voices, const CorpusFolder& folder, RecordingClips& made) {
  made.seconds = recording.seconds();
  made.damage = recording.damage();
  ClipCutter cutter(recording, text, settings, made);
  if (voices != nullptr) cutter.tell_voices_apart(*voices);
  cutter.find_faults();
  cutter.cut(folder);
}

}  // namespace myxtts
