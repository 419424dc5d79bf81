// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "audio/resample.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/speaking_flags.h"
#include "data/layouts/manifest.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "serve/remote_speech.h"
#include "synth/copy_synthesis.h"
#include "synth/decode_engine.h"
#include "synth/sound_writer.h"
#include "synth/speaking.h"
#include "synth/synthesizer.h"
#include "synth/voice.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownBytes = 60;                            // of a text that is warned of
constexpr std::size_t kLargestTextFile = std::size_t{256} << 20U;  // bytes

// The id and the text of a line of --text-file that goes into a folder: "s12|Good morning." is
// s12.wav; a line without an id has its number.
std::pair<std::string, std::string> named_line(const std::string& line, std::size_t number) {
  const auto bar = line.find('|');
  if (bar == std::string::npos) return {fmt::format("{:04}", number), line};
  std::string id = line.substr(0, bar);
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.')) {
    throw ConfigError(
        fmt::format("Line {} names no file: \"{}\"; write an id of letters, digits and dashes, a | "
                    "and what to say.",
                    number, repair_utf8(id)));
  }
  return {std::move(id), line.substr(bar + 1)};
}

// A line with an id has a file of its own, which only a folder can hold; elsewhere the id would be
// read aloud.
void refuse_id(const SpeakingFlags& flags, const std::string& line, std::size_t number) {
  const auto bar = line.find('|');
  if (bar == std::string::npos || bar == 0 || line.find_first_of(" \t") < bar) return;
  const std::string id = repair_utf8(line.substr(0, bar));
  if (flags.join) {
    throw ConfigError(
        fmt::format("Line {} has the id \"{}\", and --join makes one file of all lines; leave the "
                    "ids out, or --join.",
                    number, id));
  }
  throw ConfigError(
      fmt::format("Line {} has the id \"{}\", so it becomes a file of that name; give a folder, as "
                  "in --out {}, or leave the ids out.",
                  number, id, shell_word((flags.out.parent_path() / flags.out.stem()).string())));
}

// out.wav becomes out-0001.wav.
fs::path numbered(const fs::path& out, std::size_t number) {
  const auto name =
      fmt::format("{}-{:04}{}", out.stem().string(), number, out.extension().string());
  return out.parent_path() / name;
}

// Of two lines that are one file, one would be lost.
void require_own_file(std::map<fs::path, std::size_t>& written, const fs::path& out,
                      std::size_t number) {
  const auto [first, is_new] = written.try_emplace(out, number);
  if (is_new) return;
  throw ConfigError(
      fmt::format("Lines {} and {} would both be {}; give each line an id of its own.",
                  first->second, number, repair_utf8(out.filename().string())));
}

// Signs that a model was never taught come out as babble.
void warn_of_unknown_signs(const std::vector<SpeakingJob>& jobs, std::int64_t unknown) {
  std::int64_t found = 0;
  const std::string* first = nullptr;
  for (const auto& job : jobs) {
    for (const auto& piece : job.pieces) {
      const auto own = std::ranges::count(piece.ids, unknown);
      if (own > 0 && first == nullptr) first = &piece.text;
      found += own;
    }
  }
  if (first == nullptr) return;
  log_warning("synthesize",
              "the model was never taught {} of the signs to be read, first in \"{}\"; is this its "
              "language, in the letters of its training texts?",
              found, repair_utf8(std::string_view(*first).substr(0, kShownBytes)));
}

std::vector<std::string> lines_of(const fs::path& file) {
  const bool is_input = file == "-";
  if (is_input && ::isatty(STDIN_FILENO) != 0) {
    log_info("synthesize", "type what to say, a text on each line, and Ctrl-D at the end");
  }
  std::istringstream text(
      read_text_file(is_input ? fs::path("/dev/stdin") : file, "text", kLargestTextFile));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

using CutText = std::function<std::vector<TextPiece>(const std::string&)>;

// A file for each line.
std::vector<SpeakingJob> separate_jobs(const SpeakingFlags& flags, const CutText& cut) {
  std::vector<SpeakingJob> jobs;
  std::map<fs::path, std::size_t> written;  // the line that each file is of
  const bool in_folder = goes_into_folder(flags);
  std::size_t number = 0;
  for (const std::string& line : lines_of(flags.text_file)) {
    ++number;
    if (!in_folder) refuse_id(flags, line, number);
    const auto [id, text] = in_folder ? named_line(line, number) : std::pair(std::string(), line);
    jobs.push_back({fmt::format("line {}", number),
                    in_folder ? flags.out / (id + ".wav") : numbered(flags.out, number),
                    cut(text)});
    if (!jobs.back().pieces.empty()) require_own_file(written, jobs.back().out, number);
  }
  return jobs;
}

// One file of all lines.
SpeakingJob joined_job(const SpeakingFlags& flags, const CutText& cut) {
  SpeakingJob job{.name = "", .out = flags.out, .pieces = {}};
  std::size_t number = 0;
  for (const std::string& line : lines_of(flags.text_file)) {
    refuse_id(flags, line, ++number);
    const auto pieces = cut(line);
    if (pieces.empty()) continue;
    job.pieces.insert(job.pieces.end(), pieces.begin(), pieces.end());
    job.ends.push_back(job.pieces.size() - 1);
  }
  return job;
}

// What --text or --text-file asks for, each text with the file it goes to; blank lines are left
// out. Throws DataError, and ConfigError when nothing is left or an id names no file.
std::vector<SpeakingJob> jobs_of(const SpeakingFlags& flags, const CutText& cut) {
  std::vector<SpeakingJob> jobs;
  if (flags.text) {
    jobs.push_back({"", flags.out, cut(*flags.text)});
  } else if (flags.join) {
    jobs.push_back(joined_job(flags, cut));
  } else {
    jobs = separate_jobs(flags, cut);
  }
  std::erase_if(jobs, [](const SpeakingJob& job) { return job.pieces.empty(); });
  if (jobs.empty()) {
    throw ConfigError(fmt::format("There is nothing to say: {} is empty.",
                                  flags.text               ? "--text"
                                  : flags.text_file == "-" ? "standard input"
                                                           : flags.text_file.string()));
  }
  return jobs;
}

std::vector<SpeakingJob> make_jobs(const SpeakingFlags& flags, const SpeakingModel& model) {
  const Language language = parse_language(flags.language);
  const TextEncoder encoder(model.vocabulary, language);
  const auto most = most_text_tokens(model.config.gpt);
  const auto jobs = jobs_of(
      flags, [&](const std::string& text) { return text_pieces(text, language, encoder, most); });
  warn_of_unknown_signs(jobs, model.vocabulary.unknown());
  return jobs;
}

// One job by a running server, which cuts long texts itself. Gives the samples that came; false:
// interrupted.
class RemoteJob {
 public:
  RemoteJob(const SpeakingFlags& flags, const SpeakingJob& job, const Interruption& interruption)
      : flags_(flags), job_(job), interruption_(interruption) {}

  bool speak(const SpeechAddress& address, SpeechOrder order) {
    for (std::size_t piece = 0; piece < job_.pieces.size(); ++piece) {
      order.text = job_.pieces[piece].text;
      if (piece > 0) write(std::vector<float>(static_cast<std::size_t>(rate_ * kPauseMs / 1000)));
      const bool is_whole =
          speak_remotely(address, order, [this](std::span<const float> samples, std::int64_t rate) {
            rate_ = rate;
            write(samples);
            return !interruption_.came();
          });
      if (!is_whole) break;
    }
    const bool keeps = !interruption_.came() || flags_.stream;
    if (writer_ && keeps) writer_->finish();
    return !interruption_.came();
  }

  double seconds() const { return static_cast<double>(samples_) / static_cast<double>(rate_); }

 private:
  void write(std::span<const float> samples) {
    if (!writer_) {
      writer_ =
          open_sound_writer(job_.out, rate_, flags_.stream ? Appears::Growing : Appears::Whole);
    }
    writer_->write(samples);
    samples_ += std::ssize(samples);
  }

  const SpeakingFlags& flags_;
  const SpeakingJob& job_;
  const Interruption& interruption_;
  std::unique_ptr<SoundWriter> writer_;
  std::int64_t rate_ = 1;
  std::int64_t samples_ = 0;
};

// synthesize --server: the same by a model that is loaded already.
int synthesize_remotely(const SpeakingFlags& flags) {
  const auto jobs = jobs_of(flags, [](const std::string& text) {
    const bool is_blank = text.find_first_not_of(" \t\r") == std::string::npos;
    return is_blank ? std::vector<TextPiece>() : std::vector<TextPiece>{{.text = text, .ids = {}}};
  });
  const char* key = std::getenv(kServerKey);
  const SpeechAddress address{.url = flags.server, .key = key == nullptr ? "" : key};
  const SpeechOrder order{.text = {},
                          .voice = flags.speaker,
                          .model = flags.model.string(),
                          .language = flags.language,
                          .speed = flags.speed,
                          .temperature = flags.temperature,
                          .top_k = flags.top_k,
                          .top_p = flags.top_p,
                          .repetition_penalty = flags.repetition_penalty,
                          .seed = flags.seed};
  if (goes_into_folder(flags)) fs::create_directories(flags.out);
  const Interruption interruption;
  const auto began = std::chrono::steady_clock::now();
  double seconds = 0;
  {
    Progress progress({.title = "Speaking (texts)", .total = jobs.size(), .at_once = true});
    for (const SpeakingJob& job : jobs) {
      RemoteJob remote(flags, job, interruption);
      const bool is_whole = remote.speak(address, order);
      seconds += remote.seconds();
      if (!is_whole) return kExitBySignal + interruption.signal();
      progress.advance();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  log_info("synthesize", "{}: {:.2f} s of speech in {:.2f} s by {}.",
           jobs.size() == 1 ? jobs.front().out.string() : flags.out.string(), seconds, took.count(),
           flags.server);
  return 0;
}

const std::string kNoText = ".";
// The id as a path that stays in whatever folder it is put into.
fs::path inside(const std::string& id) {
  fs::path path;
  for (const fs::path& part : fs::path(id).relative_path()) {
    if (part != "..") path /= part;
  }
  return path;
}

// The folders of a corpus are left out where the file names alone are unique.
std::vector<ManifestEntry> with_short_names(std::vector<ManifestEntry> clips) {
  std::set<std::string> names;
  for (const ManifestEntry& clip : clips) names.insert(fs::path(clip.id).filename().string());
  const bool by_name = names.size() == clips.size();
  std::set<std::string> taken;
  for (ManifestEntry& clip : clips) {
    const std::string id = clip.id;
    clip.id = (by_name ? fs::path(id).filename() : inside(id)).string();
    if (taken.insert(clip.id).second) continue;
    throw DataError(fmt::format(
        "{} and another clip would both be written to {}.wav; give them names of their own.", id,
        clip.id));
  }
  return clips;
}

// The clips with what is said in them, where that is known, and those that are not there.
Manifest clips_of(const SpeakingFlags& flags) {
  const fs::path& path = flags.resynthesize;
  if (!holds_many_clips(path) && fs::is_regular_file(path)) {
    return {.entries = {{.id = path.stem().string(),
                         .audio = path.string(),
                         .text = flags.text.value_or("")}},
            .skipped = {}};
  }
  Manifest manifest = read_manifest({.path = path});
  manifest.entries = with_short_names(std::move(manifest.entries));
  return manifest;
}

const std::string& language_of(const ManifestEntry& clip, const SpeakingFlags& flags) {
  return clip.language.empty() ? flags.language : clip.language;
}

// Before a model is loaded.
void check_languages(const std::vector<ManifestEntry>& clips, const SpeakingFlags& flags,
                     const Vocabulary& vocabulary) {
  std::set<std::string> languages;
  for (const ManifestEntry& clip : clips) languages.insert(language_of(clip, flags));
  for (const std::string& language : languages) TextEncoder(vocabulary, parse_language(language));
}

std::vector<std::int64_t> text_ids(const ManifestEntry& clip, const SpeakingFlags& flags,
                                   const Vocabulary& vocabulary) {
  if (clip.text.empty()) {
    log_warning("synthesize",
                "No text is known of {}: the GPT is told its codes and reads a full stop in place "
                "of the text; give --text for a fair copy.",
                clip.audio);
  }
  const std::string& text = clip.text.empty() ? kNoText : clip.text;
  const TextEncoder encoder(vocabulary, parse_language(language_of(clip, flags)));
  const auto ids = encoder.encode(text).ids;
  return {ids.begin(), ids.end()};
}

// Writes what the model makes of a clip; gives its seconds.
double say_again(const ManifestEntry& clip, const SpeakingFlags& flags,
                 const Vocabulary& vocabulary, const CopySynthesis& copy) {
  const at::Tensor sound =
      copy(read_clip(clip.audio, copy.input_rate()), text_ids(clip, flags, vocabulary));
  const fs::path out = flags.out / (clip.id + ".wav");
  fs::create_directories(out.parent_path());
  const auto writer = open_sound_writer(out, copy.sample_rate(), Appears::Whole);
  writer->write({sound.const_data_ptr<float>(), static_cast<std::size_t>(sound.numel())});
  writer->finish();
  return static_cast<double>(sound.numel()) / static_cast<double>(copy.sample_rate());
}

// synthesize --resynthesize: says recorded clips again through DVAE, GPT and decoder into a folder.
// The exit code. Throws DataError when a clip could not be said; the others are there then.
int resynthesize(const SpeakingFlags& flags) {
  const auto began = std::chrono::steady_clock::now();
  const Manifest manifest = clips_of(flags);
  const auto& clips = manifest.entries;
  const auto& missing = manifest.skipped;
  if (flags.threads) at::set_num_threads(*flags.threads);
  const auto device = speaking_device(flags);
  const auto vocabulary = Vocabulary::load(flags.model / files::kVocabulary);
  check_languages(clips, flags, vocabulary);
  warn_of_untrained_parts(flags.model);
  const OpenModel model = open_model(flags.model);
  require_finite(model, flags.model);
  const CopySynthesis copy(model, device);
  const Interruption interruption;
  for (const Skipped& clip : missing) {
    log_warning("synthesize", "{}, line {} of {}, was left out: {}.", clip.file.string(), clip.line,
                clip.manifest.string(), clip.measured);
  }
  const std::size_t all = clips.size() + missing.size();
  std::size_t failed = missing.size();
  double seconds = 0;  // of sound
  {
    Progress progress({.title = "Saying again", .total = clips.size()});
    for (const ManifestEntry& clip : clips) {
      if (interruption.came()) return kExitBySignal + interruption.signal();
      try {
        seconds += say_again(clip, flags, vocabulary, copy);
      } catch (const DataError& error) {  // counted, and said at the end
        log_warning("synthesize", "{} was left out: {}", clip.audio, error.what());
        ++failed;
      }
      progress.advance();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  log_info("synthesize", "{}: {} of {} clips said again, {:.2f} s of speech in {:.2f} s.",
           flags.out.string(), all - failed, all, seconds, took.count());
  if (failed > 0) {
    throw DataError(
        fmt::format("{} of {} clips could not be said again; the reasons are above.", failed, all));
  }
  return 0;
}

// Where the voice comes from: a file, or clips that the model has to listen to.
struct VoiceSource {
  std::optional<Voice> stored = {};
  std::vector<at::Tensor> clips = {};
  ReferenceLengths lengths = {};
};

VoiceSource find_voice(const SpeakingFlags& flags, const SpeakingModel& model) {
  if (!flags.voice.empty()) return {.stored = read_voice(flags.voice, model.config)};
  if (!flags.speaker.empty()) {
    return {.stored = read_speaker(model.folder, flags.speaker, model.config)};
  }
  const auto lengths =
      reference_lengths(flags.reference, model.reference, model.config.decoder.input_sample_rate);
  return {.clips = read_references(model, flags.references, lengths, flags.trim_db),
          .lengths = lengths};
}

Voice make_voice(const SpeakingFlags& flags, const VoiceSource& source,
                 const Synthesizer& synthesizer) {
  if (source.stored) return *source.stored;
  const auto voice = synthesizer.voice_of(source.clips, source.lengths);
  if (!flags.save_voice.empty()) {
    write_voice(flags.save_voice, voice);
    log_info("synthesize", "{} holds the voice.", flags.save_voice.string());
  }
  return voice;
}

std::int64_t rows_for(const SpeakingFlags& flags, const std::vector<SpeakingJob>& jobs) {
  if (flags.beams > 1) return flags.beams;
  if (flags.stream) return 1;
  std::size_t pieces = 0;
  for (const auto& job : jobs) pieces += job.pieces.size();
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(pieces), 1, flags.batch);
}

int run_synthesize(SpeakingFlags flags) {
  check(flags);
  if (!flags.server.empty()) return synthesize_remotely(flags);
  flags.model = find_model("--model", flags.model);
  if (!flags.resynthesize.empty()) return resynthesize(flags);
  const auto device = speaking_device(flags);
  if (flags.threads) at::set_num_threads(*flags.threads);
  const auto model = open_speaking_model(flags.model);
  const SpeakSettings settings{sampling_settings(flags, model.sampling), flags.speed};
  const bool speaks = flags.text || !flags.text_file.empty();
  const auto jobs = speaks ? make_jobs(flags, model) : std::vector<SpeakingJob>();
  const VoiceSource source = find_voice(flags, model);
  log_info("synthesize", "loading {}", flags.model.string());
  warn_of_untrained_parts(flags.model);
  read_ahead(model);
  Synthesizer synthesizer(model, device, rows_for(flags, jobs));
  const auto voice = make_voice(flags, source, synthesizer);
  if (!speaks) return 0;
  if (goes_into_folder(flags)) fs::create_directories(flags.out);

  const Interruption interruption;
  Speaking speaking(synthesizer, voice, settings, interruption);
  if (!flags.dump.empty()) speaking.keep_everything();
  const bool is_whole = flags.stream ? speaking.stream(jobs.front(), flags.stream_chunk)
                                     : speaking.speak(jobs, synthesizer.rows());
  if (!flags.dump.empty() && speaking.kept_any()) speaking.write_dump(flags.dump, jobs);
  log_info("synthesize", "{}.", speaking.summary());
  return is_whole ? 0 : kExitBySignal + interruption.signal();
}

}  // namespace

Command synthesize_command() {
  const auto declare = [](CLI::App& app) {
    const auto flags = std::make_shared<SpeakingFlags>();
    declare_speaking_flags(app, *flags);
    return [flags] { return run_synthesize(*flags); };
  };
  return {"synthesize",
          "Models",
          "Speaks a text in the voice of a clip",
          declare,
          {"myxtts synthesize --model DIR --reference me.wav --language en --text \"Hello.\" --out "
           "hello.wav",
           "myxtts synthesize --model DIR --reference me.wav --language en --text-file lines.txt "
           "--out spoken",
           "myxtts synthesize --model DIR --reference me.wav --language en --text-file chapter.txt "
           "--join --out chapter.wav",
           "fortune | myxtts synthesize --model runs/anna --reference me.wav --language en "
           "--text-file - --join --out fortune.flac",
           "myxtts synthesize --model DIR --reference me.wav --language en --text \"Hello.\" "
           "--stream --out - | aplay -f S16_LE -r 24000",
           "myxtts synthesize --model DIR --reference me.wav --save-voice me.safetensors",
           "myxtts synthesize --model DIR --voice me.safetensors --language en --text \"Hello.\" "
           "--out hello.mp3",
           "myxtts synthesize --server http://127.0.0.1:8020 --speaker me --language en --text "
           "\"Hello.\" --out hello.wav",
           "myxtts synthesize --model DIR --language en --resynthesize corpora/anna --out copies"}};
}

}  // namespace myxtts
