// SPDX-License-Identifier: Apache-2.0
#include "cli/synthesize.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "synth/decode_engine.h"
#include "synth/speaking.h"
#include "synth/synthesizer.h"
#include "synth/voice.h"
#include "text/lexicon.h"
#include "text/unicode.h"

namespace myxtts {

namespace fs = std::filesystem;

namespace {

// Signs that a model was never taught come out as babble.
void warn_of_unknown_signs(const std::vector<SpeakingJob>& jobs, TextCutter& cutter) {
  std::vector<TextPiece> pieces;
  for (const auto& job : jobs) pieces.insert(pieces.end(), job.pieces.begin(), job.pieces.end());
  const auto signs = cutter.unknown_signs(pieces);
  if (signs.empty()) return;
  log_warning("synthesize",
              "the model was never taught {}; is this its language, in the letters of its training "
              "texts?",
              describe_signs(signs));
}

std::vector<SpeakingJob> make_jobs(const SpeakingFlags& flags, const SpeakingModel& model) {
  TextCutter cutter(model.vocabulary, parse_language(flags.language),
                    most_text_tokens(model.config.gpt),
                    flags.lexicon.empty() ? Lexicon() : Lexicon::load(flags.lexicon));
  const auto jobs = jobs_of(flags, [&](const std::string& text, const std::string& subject) {
    return cutter.cut(text, subject);
  });
  warn_of_unknown_signs(jobs, cutter);
  return jobs;
}

// A voice that a text names: one that came with the model, or a file.
Voice named_voice(const std::string& name, const SpeakingModel& model) {
  const auto names = speaker_names(model.folder);
  if (std::ranges::find(names, name) != names.end()) {
    return read_speaker(model.folder, name, model.config);
  }
  if (fs::exists(name)) return read_voice(name, model.config);
  throw DataError(
      fmt::format("The text asks for the voice \"{}\", which did not come with {} and is no file; "
                  "make one with "
                  "myxtts synthesize --model {} --reference CLIP --save-voice FILE.",
                  printable(name), model.folder.string(), shell_word(model.folder.string())));
}

std::map<std::string, Voice> named_voices(const std::vector<SpeakingJob>& jobs,
                                          const SpeakingModel& model) {
  std::map<std::string, Voice> voices;
  for (const auto& job : jobs) {
    for (const auto& piece : job.pieces) {
      if (piece.voice.empty() || voices.contains(piece.voice)) continue;
      voices.emplace(piece.voice, named_voice(piece.voice, model));
    }
  }
  return voices;
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
  if (flags.sampling.beams > 1) return flags.sampling.beams;
  if (flags.stream) return 1;
  std::size_t pieces = 0;
  for (const auto& job : jobs) pieces += job.pieces.size();
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(pieces), 1, flags.batch);
}

// What is only heard leaves no file, so none is named.
std::string without_file(const std::string& summary) {
  return summary.substr(summary.find(": ") + 2);
}

int run_synthesize(SpeakingFlags flags) {
  std::optional<ScratchFolder> only_heard;
  if (flags.play && flags.out.empty()) {
    flags.out = only_heard.emplace("speech") / "speech.wav";
  }
  check(flags);
  if (!flags.server.empty()) return synthesize_remotely(flags);
  flags.model = find_model("--model", flags.model);
  if (!flags.resynthesize.empty()) return resynthesize(flags);
  const auto device = open_device(flags.device);
  const auto model = open_speaking_model(flags.model);
  require_inputs(flags);
  const SpeakSettings settings{sampling_of(flags.sampling, model.sampling), flags.speed};
  const bool speaks = flags.text || !flags.text_file.empty();
  const auto jobs = speaks ? make_jobs(flags, model) : std::vector<SpeakingJob>();
  const VoiceSource source = find_voice(flags, model);
  auto named = named_voices(jobs, model);
  log_info("synthesize", "loading {}", flags.model.string());
  warn_of_untrained_parts(flags.model);
  read_ahead(model);
  Synthesizer synthesizer(model, device, rows_for(flags, jobs));
  const Voices voices(make_voice(flags, source, synthesizer), std::move(named));
  if (!speaks) return 0;
  if (goes_into_folder(flags)) fs::create_directories(flags.out);

  const Interruption interruption;
  Speaking speaking(synthesizer, voices, settings, interruption);
  if (!flags.dump.empty()) speaking.keep_everything();
  const bool is_whole = flags.stream ? speaking.stream(jobs.front(), flags.stream_chunk)
                                     : speaking.speak(jobs, synthesizer.rows());
  if (!flags.dump.empty() && speaking.kept_any()) speaking.write_dump(flags.dump, jobs);
  const std::string summary = speaking.summary();
  log_info("synthesize", "{}.", only_heard ? without_file(summary) : summary);
  if (!is_whole) return kExitBySignal + interruption.signal();
  return flags.play ? play(jobs, interruption) : 0;
}

}  // namespace

Command synthesize_command() {
  const auto declare = [](CLI::App& app) {
    const auto flags = std::make_shared<SpeakingFlags>();
    declare_speaking_flags(app, *flags);
    return [flags] { return run_synthesize(*flags); };
  };
  return {
      "synthesize",
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
       "myxtts synthesize --model DIR --reference me.wav --language en --text \"Hello.\" --play",
       "myxtts synthesize --model DIR --reference me.wav --save-voice me.safetensors",
       "myxtts synthesize --model DIR --voice me.safetensors --language en --text \"Hello.\" "
       "--out hello.mp3",
       "myxtts synthesize --server http://127.0.0.1:8020 --speaker me --language en --text "
       "\"Hello.\" --out hello.wav",
       "myxtts synthesize --model DIR --language en --resynthesize corpora/anna --out copies"}};
}

}  // namespace myxtts
