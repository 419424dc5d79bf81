// SPDX-License-Identifier: Apache-2.0
#include "cli/synthesize.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "synth/decode_engine.h"
#include "synth/sampling.h"
#include "synth/sound_writer.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr double kFastest = 10.0;
constexpr double kSlowest = 0.05;
constexpr std::int64_t kLargestBatch = 64;

void declare_text(CLI::App& app, SpeakingFlags& flags) {
  app.add_option("--model", flags.model,
                 "The model folder, or a run directory of train: its best model, else its latest")
      ->type_name("DIR");
  app.add_option("--server", flags.server,
                 "Has a running myxtts serve speak, in its voice --speaker; --model is then a name "
                 "that it serves. Its key is taken from the variable MYXTTS_API_KEY")
      ->type_name("URL");
  app.add_option("--text", flags.text, "What to say")->type_name("TEXT");
  app.add_option(
         "--text-file", flags.text_file,
         "A file with a text on each line, - for standard input; each becomes a numbered sound "
         "file. With a folder as --out a line may be ID|TEXT and becomes ID.wav. A file in SSML is "
         "one "
         "text")
      ->type_name("FILE");
  app.add_flag("--join", flags.join,
               "Makes one sound file of all lines of --text-file, with a short pause between them");
  app.add_option("--lexicon", flags.lexicon,
                 "How words are said: on each line a word, a tab and what to say in its place")
      ->type_name("FILE");
  app.add_option("--resynthesize", flags.resynthesize,
                 "In place of a text: a clip, a corpus or a manifest whose clips are said again, "
                 "through DVAE, GPT and decoder, into the folder --out")
      ->type_name("PATH");
  app.add_option("--language", flags.language, "Language of the text, such as en or zh-cn")
      ->type_name("L");
  app.add_option("--out", flags.out,
                 "The .wav, .flac, .ogg, .opus or .mp3 to write, - for raw 16-bit PCM on standard "
                 "output, or a "
                 "folder for --text-file and --resynthesize")
      ->type_name("FILE");
  app.add_flag("--play", flags.play,
               "Plays it when it was spoken, with pw-play, paplay, aplay or ffplay; without --out "
               "it is only heard");
  app.add_option("--dump", flags.dump,
                 "Also writes text ids, codes, latents and samples, text after text, to this "
                 "safetensors file")
      ->type_name("FILE");
}

void declare_voice(CLI::App& app, SpeakingFlags& flags) {
  constexpr const char* kGroup = "Voice";
  app.add_option("--reference", flags.references,
                 "A clip of the voice to speak in; give it again for more clips")
      ->type_name("CLIP")
      ->group(kGroup);
  app.add_option("--voice", flags.voice, "A voice that --save-voice made")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--speaker", flags.speaker, "A voice that came with the model")
      ->type_name("NAME")
      ->group(kGroup);
  app.add_option("--save-voice", flags.save_voice,
                 "Writes the voice of the clips to this file, for --voice")
      ->type_name("FILE")
      ->group(kGroup);
  declare_reference_flags(app, flags.reference);
  app.add_option("--trim-db", flags.trim_db,
                 "Cuts what is this many decibels quieter off the ends of the clips. [no cut]")
      ->type_name("DB")
      ->group(kGroup);
}

void declare_sampling(CLI::App& app, SpeakingFlags& flags) {
  constexpr const char* kGroup = "Sampling";
  const auto add = [&](const char* name, auto& value, const char* help, const char* type) {
    app.add_option(name, value, help)->type_name(type)->group(kGroup);
  };
  add("--temperature", flags.sampling.temperature, "Lower is steadier. [the model's]", "X");
  add("--top-k", flags.sampling.top_k, "Choose among this many codes; 0: all. [the model's]", "N");
  add("--top-p", flags.sampling.top_p, "Choose among the codes of this probability. [the model's]",
      "X");
  add("--repetition-penalty", flags.sampling.repetition_penalty,
      "How much codes that were used lose. [the model's]", "X");
  add("--length-penalty", flags.sampling.length_penalty,
      "Above 0 prefers long beams; without --beams nothing. [the model's]", "X");
  add("--beams", flags.sampling.beams, "Search with this many beams. [1]", "N");
  app.add_flag("--greedy", flags.sampling.greedy, "Takes the likeliest code always")->group(kGroup);
  add("--seed", flags.sampling.seed, "The same seed says the same again. [1]", "N");
  add("--speed", flags.speed, "How fast to speak: 2 is twice as fast. [1]", "X");
}

void declare_running(CLI::App& app, SpeakingFlags& flags) {
  app.add_flag("--stream", flags.stream, "Writes sound while it is made");
  app.add_option("--stream-chunk", flags.stream_chunk, "Codes between two pieces of sound. [20]")
      ->type_name("N");
  app.add_option("--batch", flags.batch, "Pieces of text to speak at once. [8]")->type_name("N");
  declare_device_flags(app, flags.device);
}

void require(bool holds, const std::string& sentence) {
  if (!holds) throw ConfigError(sentence);
}

// Flags, and whether each was given. A value that is the usual one changes nothing and is let
// through.
using GivenFlags = std::vector<std::pair<const char*, bool>>;

// What neither a server nor saying clips again reads.
GivenFlags flags_of_texts_here(const SpeakingFlags& flags) {
  const SpeakingFlags usual;
  const ReferenceFlags& reference = flags.reference;
  return {{"--save-voice", !flags.save_voice.empty()},
          {"--lexicon", !flags.lexicon.empty()},
          {"--cond-len", reference.cond_len.has_value()},
          {"--cond-chunk", reference.cond_chunk.has_value()},
          {"--max-ref-len", reference.max_ref_len.has_value()},
          {"--trim-db", flags.trim_db.has_value()},
          {"--length-penalty", flags.sampling.length_penalty.has_value()},
          {"--beams", flags.sampling.beams != usual.sampling.beams},
          {"--greedy", flags.sampling.greedy},
          {"--stream-chunk", flags.stream_chunk != usual.stream_chunk},
          {"--batch", flags.batch != usual.batch}};
}

// The first flag that was given; null: none was.
const char* first_given(const GivenFlags& flags, const GivenFlags& more) {
  for (const GivenFlags* list : {&flags, &more}) {
    for (const auto& [flag, is_given] : *list) {
      if (is_given) return flag;
    }
  }
  return nullptr;
}

// voices-1.0 is a folder, and what is there as one; hello.wav is none, nor is hello.mp3.
bool names_folder(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension.size() < 2 || !std::isalpha(static_cast<unsigned char>(extension[1])) ||
         fs::is_directory(path);
}

void check_resynthesis(const SpeakingFlags& flags) {
  require(
      flags.references.empty() && flags.voice.empty() && flags.speaker.empty(),
      "--resynthesize says each clip in its own voice; leave --reference, --voice and --speaker "
      "out.");
  require(flags.text_file.empty() && !flags.join && !flags.stream && flags.dump.empty(),
          "--resynthesize goes with neither --text-file nor --join nor --stream nor --dump.");
  const GivenFlags sampled = {
      {"--temperature", flags.sampling.temperature.has_value()},
      {"--top-k", flags.sampling.top_k.has_value()},
      {"--top-p", flags.sampling.top_p.has_value()},
      {"--repetition-penalty", flags.sampling.repetition_penalty.has_value()},
      {"--seed", flags.sampling.seed.value_or(1) != 1},
      {"--speed", flags.speed != SpeakingFlags().speed}};
  if (const char* flag = first_given(flags_of_texts_here(flags), sampled)) {
    throw ConfigError(
        fmt::format("--resynthesize takes codes and voice from the clip itself, so {} would change "
                    "nothing; leave it out.",
                    flag));
  }
  require(!flags.text || !holds_many_clips(flags.resynthesize),
          "--text says what one clip says, and a corpus or a manifest brings its own texts; leave "
          "--text out, or name a clip.");
  require(!flags.play, "--resynthesize writes a folder of clips and plays none; leave --play out.");
  require(!flags.out.empty() && flags.out != "-" && names_folder(flags.out),
          "Say which folder the clips go to with --out DIR.");
  require(!flags.language.empty(), "Say which language is spoken with --language L.");
}

// What only a model that is loaded here can do.
void check_remote(const SpeakingFlags& flags) {
  const GivenFlags sources = {{"--reference", !flags.references.empty()},
                              {"--voice", !flags.voice.empty()},
                              {"--resynthesize", !flags.resynthesize.empty()},
                              {"--dump", !flags.dump.empty()},
                              {"--device", flags.device.device != DeviceFlags().device},
                              {"--model-gpu", flags.device.model_gpu.has_value()},
                              {"--threads", flags.device.threads.has_value()}};
  if (const char* flag = first_given(sources, flags_of_texts_here(flags))) {
    throw ConfigError(fmt::format(
        "With --server the server decides, so {} would change nothing; leave it out. Its voices "
        "are named with --speaker.",
        flag));
  }
  require(flags.speed >= 0.25 && flags.speed <= 4.0,
          fmt::format("--speed is {}; a server takes 0.25 to 4.", flags.speed));
}

void check_sources(const SpeakingFlags& flags) {
  const bool has_file = !flags.text_file.empty();
  require(!(flags.text && has_file), "Give --text or --text-file, not both.");
  require(flags.text || has_file || !flags.save_voice.empty(),
          "There is nothing to say; give --text \"...\" or --text-file FILE.");
  const int voices = (flags.references.empty() ? 0 : 1) + (flags.voice.empty() ? 0 : 1) +
                     (flags.speaker.empty() ? 0 : 1);
  require(voices > 0,
          "There is no voice to speak in; give --reference CLIP, --voice FILE or --speaker NAME.");
  require(voices == 1, "Give one of --reference, --voice and --speaker, not several.");
  require(flags.save_voice.empty() || !flags.references.empty(),
          "--save-voice keeps the voice of clips; give them with --reference.");
  require(
      flags.text || has_file || !flags.play,
      "There is nothing to play; give --text \"...\" or --text-file FILE, or leave --play out.");
  if (!flags.text && !has_file) return;
  require(
      !flags.out.empty(),
      "Say where the sound goes with --out FILE.wav (or - for raw PCM), or hear it with --play.");
  require(!flags.language.empty(), "Say which language the text is in with --language L.");
  if (!goes_into_folder(flags)) check_sound_output(flags.out);
}

void check_combinations(const SpeakingFlags& flags) {
  const bool has_file = !flags.text_file.empty();
  require(has_file || !flags.join, "--join joins the lines of --text-file; give that too.");
  require(
      !(has_file && flags.out == "-") || flags.join,
      "--text-file makes several files, so --out cannot be -; name one, such as out.wav, or add "
      "--join for one sound.");
  require(!(has_file && flags.stream), "--stream speaks one text; give it with --text.");
  require(!(flags.play && (flags.stream || flags.out == "-")),
          "--play plays a sound that is whole; leave --play out, and pipe --stream --out - into a "
          "player, as in | aplay -f S16_LE -r 24000.");
  require(!(flags.stream && flags.sampling.beams > 1),
          "--stream cannot go back on what was heard, so it has one beam; leave --beams out.");
}

}  // namespace

void declare_speaking_flags(CLI::App& app, SpeakingFlags& flags) {
  declare_text(app, flags);
  declare_voice(app, flags);
  declare_sampling(app, flags);
  declare_running(app, flags);
}

bool holds_many_clips(const fs::path& path) {
  constexpr std::array<std::string_view, 5> kManifests = {".csv", ".txt", ".tsv", ".jsonl",
                                                          ".json"};
  return fs::is_directory(path) ||
         std::ranges::find(kManifests, path.extension().string()) != kManifests.end();
}

bool goes_into_folder(const SpeakingFlags& flags) {
  return !flags.text_file.empty() && !flags.join && names_folder(flags.out) && flags.out != "-";
}

namespace {

void check_outputs(const SpeakingFlags& flags) {
  if (!flags.dump.empty()) require_output("--dump", flags.dump, Output::File);
  if (!flags.save_voice.empty()) require_output("--save-voice", flags.save_voice, Output::File);
  if (flags.out.empty() || flags.out == "-") return;
  const bool is_folder = goes_into_folder(flags) || !flags.resynthesize.empty();
  require_output("--out", flags.out,
                 is_folder      ? Output::Folder
                 : flags.stream ? Output::GrowingFile
                                : Output::File);
}

}  // namespace

void check(const SpeakingFlags& flags) {
  require(!flags.model.empty() || !flags.server.empty(),
          "Say which model speaks with --model DIR, or name a running server with --server URL.");
  if (!flags.server.empty()) check_remote(flags);
  if (flags.resynthesize.empty()) {
    check_sources(flags);
    check_combinations(flags);
  } else {
    check_resynthesis(flags);
  }
  require(flags.speed >= kSlowest && flags.speed <= kFastest,
          fmt::format("--speed is {}; it must be from {} to {}.", flags.speed, kSlowest, kFastest));
  if (flags.play) require_player();
  require(flags.stream_chunk >= 1,
          fmt::format("--stream-chunk is {}; it must be 1 or more.", flags.stream_chunk));
  require(flags.batch >= 1 && flags.batch <= kLargestBatch,
          fmt::format("--batch is {}; it must be from 1 to {}.", flags.batch, kLargestBatch));
  check(flags.device);
  require(!flags.trim_db || (std::isfinite(*flags.trim_db) && *flags.trim_db > 0.0),
          fmt::format("--trim-db is {}; it must be above 0.", flags.trim_db.value_or(0.0)));
  check_outputs(flags);
}

void require_inputs(const SpeakingFlags& flags) {
  std::vector<std::pair<const char*, std::filesystem::path>> named;
  for (const auto& clip : flags.references) named.emplace_back("--reference", clip);
  if (!flags.voice.empty()) named.emplace_back("--voice", flags.voice);
  if (!flags.lexicon.empty()) named.emplace_back("--lexicon", flags.lexicon);
  if (!flags.text_file.empty() && flags.text_file != "-") {
    named.emplace_back("--text-file", flags.text_file);
  }
  for (const auto& [flag, path] : named) {
    std::error_code unreadable;
    const auto type = std::filesystem::status(path, unreadable).type();
    if (type != std::filesystem::file_type::not_found) continue;
    throw DataError(fmt::format("{} {}: there is no such file.", flag, path.string()));
  }
}

}  // namespace myxtts
