// SPDX-License-Identifier: Apache-2.0
#include "synth/speaking.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <ATen/ATen.h>

#include "base/log.h"
#include "synth/sound_seams.h"
#include "text/unicode.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

constexpr std::size_t kShownBytes = 40;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The start of a piece, for messages.
std::string shown(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  return repair_utf8(text.substr(0, kShownBytes)) + "…";
}

// The numbers of a job and of one of its pieces.
using PieceOfJob = std::pair<std::size_t, std::size_t>;

std::vector<PieceOfJob> all_pieces(const std::vector<SpeakingJob>& jobs) {
  std::vector<PieceOfJob> pieces;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    for (std::size_t piece = 0; piece < jobs[job].pieces.size(); ++piece) {
      pieces.emplace_back(job, piece);
    }
  }
  return pieces;
}

}  // namespace

Speaking::Speaking(Synthesizer& synthesizer, const Voices& voices, const SpeakSettings& settings,
                   const Interruption& interruption)
    : synthesizer_(synthesizer), voices_(voices), settings_(settings), interruption_(interruption) {
  progress_.emplace(ProgressOptions{.title = "Speaking (codes)", .at_once = true});
}

bool Speaking::speak(const std::vector<SpeakingJob>& jobs, std::int64_t batch) {
  const auto pieces = all_pieces(jobs);
  for (const SpeakingJob& job : jobs) texts_ += std::max<std::size_t>(job.ends.size(), 1);
  pieces_ = pieces.size();
  show_how_far();
  std::map<std::size_t, SpokenPiece> waiting;  // for the piece before it, by its place
  std::map<std::size_t, std::unique_ptr<SoundWriter>> writers;
  std::vector<std::size_t> next(jobs.size(), 0);  // the piece that a job's file goes on with
  // Writes what a job has up to its first piece that is still spoken; `first` is its first place.
  const auto write_job = [&](std::size_t job, std::size_t first) {
    while (next[job] < jobs[job].pieces.size()) {
      auto spoken = waiting.extract(first + next[job]);
      if (!spoken) return;
      auto& writer = writers[job];
      if (!writer) {
        writer = open_sound_writer(jobs[job].out, synthesizer_.sample_rate(), Appears::Whole);
      }
      add_piece(jobs[job], next[job], spoken.mapped(), *writer);
      end_piece(jobs[job], next[job], *writer);
      ++next[job];
      if (keeps_) kept_.insert(std::move(spoken));
    }
    finish(*writers[job], jobs[job]);
    writers.erase(job);
  };
  const auto on_codes = [this](std::int64_t count) {
    codes_ += count;
    progress_->advance(static_cast<std::uint64_t>(count));
    return !interruption_.came();
  };
  for (std::size_t at = 0; at < pieces.size(); at += static_cast<std::size_t>(batch)) {
    const auto count = std::min(static_cast<std::size_t>(batch), pieces.size() - at);
    std::vector<TextPiece> texts;
    for (const auto& [job, piece] : std::span(pieces).subspan(at, count)) {
      texts.push_back(jobs[job].pieces[piece]);
    }
    synthesizer_.speak(texts, voices_, settings_, on_codes,
                       [&](std::size_t place, SpokenPiece spoken) {
                         if (interruption_.came()) return;  // it may be a part of a piece
                         const auto [job, piece] = pieces[at + place];
                         waiting.emplace(at + place, std::move(spoken));
                         write_job(job, at + place - piece);
                       });
    if (interruption_.came()) {
      for (const auto& [job, writer] : writers) {
        if (!jobs[job].ends.empty()) finish(*writer, jobs[job]);
      }
      return false;
    }
  }
  return true;
}

// Counts pieces and texts, and leaves a pause between the texts of one file.
void Speaking::end_piece(const SpeakingJob& job, std::size_t piece, SoundWriter& writer) {
  const bool is_last = piece + 1 == job.pieces.size();
  const bool ends_text = is_last || std::ranges::find(job.ends, piece) != job.ends.end();
  ++pieces_done_;
  if (ends_text) ++texts_done_;
  show_how_far();
  if (is_last || !ends_text) return;
  pause(writer, kPauseMs);
}

void Speaking::pause(SoundWriter& writer, std::int64_t ms) {
  std::vector<float> silence(static_cast<std::size_t>(synthesizer_.sample_rate() * ms / 1000));
  writer.write(silence);
  samples_ += static_cast<std::int64_t>(silence.size());
}

// How many codes there will be nobody knows, but of texts and of the pieces of a long one.
void Speaking::show_how_far() {
  if (texts_ > 1) {
    progress_->set_note({.first = {fmt::format("{} of {} texts", texts_done_, texts_)}});
  } else if (pieces_ > 1) {
    progress_->set_note({.first = {fmt::format("{} of {} pieces", pieces_done_, pieces_)}});
  }
}

void Speaking::finish(SoundWriter& writer, const SpeakingJob& job) {
  if (!interruption_.came()) pause(writer, job.pause_ms);
  writer.finish();
  written_.insert(job.out);
}

void Speaking::add_piece(const SpeakingJob& job, std::size_t piece, SpokenPiece& spoken,
                         SoundWriter& writer) {
  judge(job, piece, spoken);
  pause(writer, job.pieces[piece].pause_ms);
  fade_seams(values_of(spoken.samples), piece, job.pieces.size(), synthesizer_.sample_rate());
  write(writer, values_of(spoken.samples));
}

bool Speaking::stream(const SpeakingJob& job, std::int64_t chunk_codes) {
  const auto writer = open_sound_writer(job.out, synthesizer_.sample_rate(), Appears::Growing);
  pieces_ = job.pieces.size();
  for (std::size_t piece = 0; piece < job.pieces.size() && !interruption_.came(); ++piece) {
    pieces_done_ = piece;
    show_how_far();
    pause(*writer, job.pieces[piece].pause_ms);
    bool starts = true;
    std::vector<float> sent;
    const auto on_sound = [&](std::span<const float> samples, bool is_last) {
      std::vector<float> sound(samples.begin(), samples.end());
      fade_seams(sound, piece, job.pieces.size(), synthesizer_.sample_rate(),
                 {.starts = std::exchange(starts, starts && sound.empty()), .ends = is_last});
      write(*writer, sound);
      if (keeps_) sent.insert(sent.end(), sound.begin(), sound.end());
      progress_->advance(static_cast<std::uint64_t>(chunk_codes));
      return !interruption_.came();
    };
    auto spoken = synthesizer_.stream(job.pieces[piece], voices_, settings_, chunk_codes, on_sound);
    codes_ += static_cast<std::int64_t>(spoken.codes.size());
    if (!interruption_.came()) judge(job, piece, spoken);
    if (!keeps_) continue;
    spoken.samples = at::tensor(sent, at::kFloat);
    kept_.emplace(piece, std::move(spoken));
  }
  finish(*writer, job);
  return !interruption_.came();
}

void Speaking::write(SoundWriter& writer, std::span<float> samples) {
  writer.write(samples);
  samples_ += static_cast<std::int64_t>(samples.size());
  if (!first_sound_ && !samples.empty()) first_sound_ = seconds_since(begin_);
}

void Speaking::judge(const SpeakingJob& job, std::size_t piece, const SpokenPiece& spoken) const {
  const auto& text = job.pieces[piece].text;
  const auto where = job.name.empty() ? std::string() : fmt::format(" of {}", job.name);
  if (!spoken.stopped) {
    log_warning("synthesize",
                "\"{}\"{} did not come to an end by itself and was cut off after {} codes, the "
                "most there can be; try another --seed, a lower --temperature or shorter text.",
                shown(text), where, spoken.codes.size());
  } else if (spoken.codes.size() <= 1) {
    log_warning("synthesize",
                "\"{}\"{} gave no speech: the model stopped at once; try another --seed, more "
                "words, or a longer reference.",
                shown(text), where);
  }
}

void Speaking::write_dump(const std::filesystem::path& path,
                          const std::vector<SpeakingJob>& jobs) const {
  std::vector<at::Tensor> ids;
  std::vector<at::Tensor> codes;
  std::vector<at::Tensor> latents;
  std::vector<at::Tensor> samples;
  std::vector<std::int64_t> counts;
  const auto pieces = all_pieces(jobs);
  for (const auto& [place, spoken] : kept_) {
    const auto [job, piece] = pieces[place];
    ids.push_back(at::tensor(jobs[job].pieces[piece].ids, at::kLong));
    codes.push_back(at::tensor(spoken.codes, at::kLong));
    latents.push_back(spoken.latents);
    samples.push_back(spoken.samples);
    counts.insert(counts.end(), {ids.back().size(0), codes.back().size(0), latents.back().size(0),
                                 samples.back().size(0)});
  }
  write_tensors(path, {{"text_ids", at::cat(ids)},
                       {"codes", at::cat(codes)},
                       {"latents", at::cat(latents)},
                       {"wav", at::cat(samples)},
                       {"pieces", at::tensor(counts, at::kLong).view({-1, 4})}});
}

// Those that are there.
std::string Speaking::files() const {
  if (written_.empty()) return "no file was written";
  const std::string first = written_.begin()->string();
  if (written_.size() == 1) return first == "-" ? "standard output" : first;
  return fmt::format("{} to {} ({} files)", first, written_.rbegin()->string(), written_.size());
}

std::string Speaking::summary() {
  progress_.reset();  // its last line comes first
  const double seconds = seconds_since(begin_);
  const double sound =
      static_cast<double>(samples_) / static_cast<double>(synthesizer_.sample_rate());
  std::string text = fmt::format(
      "{}: {:.2f} s of speech in {:.2f} s (real-time factor {:.2f}), {} codes at {:.0f}/s, first "
      "sound after {:.2f} s",
      files(), sound, seconds, sound > 0.0 ? seconds / sound : 0.0, codes_,
      static_cast<double>(codes_) / seconds, first_sound_.value_or(seconds));
  if (!interruption_.came()) return text;
  text += ", then interrupted";
  if (texts_ > 1) text += fmt::format(": {} of {} texts are done", texts_done_, texts_);
  return text;
}

}  // namespace myxtts
