// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "audio/resample.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "listen/transcriber.h"
#include "listen/whisper_files.h"
#include "session/console.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

struct TranscribeArguments {
  std::vector<std::filesystem::path> clips;
  std::filesystem::path whisper;
  std::string language;
  bool times = false;
  bool words = false;
  bool json = false;
  std::int64_t batch = 8;
  std::string precision = "fp32";
  DeviceFlags device;
};

struct ReadClip {
  std::filesystem::path path;
  at::Tensor sound;  // [S] at kWhisperRate
};

double seconds_of(const ReadClip& clip) {
  return static_cast<double>(clip.sound.size(0)) / static_cast<double>(kWhisperRate);
}

Json json_of(const ReadClip& clip, const Transcript& transcript, bool words) {
  Json line = {{"clip", clip.path.string()},
               {"text", transcript.text},
               {"language", transcript.language},
               {"seconds", seconds_of(clip)},
               {"log_probability", transcript.log_probability},
               {"no_speech", transcript.no_speech},
               {"tokens", transcript.tokens}};
  if (words) line["words"] = Json::array();
  for (const TimedWord& word : transcript.words) {
    line["words"].push_back({{"begin", word.begin},
                             {"end", word.end},
                             {"text", word.text},
                             {"probability", word.probability}});
  }
  for (const HeardPiece& piece : transcript.pieces) {
    line["pieces"].push_back({{"begin", piece.begin}, {"end", piece.end}, {"text", piece.text}});
  }
  return line;
}

std::string lines_of(const TranscribeArguments& arguments, const ReadClip& clip,
                     const Transcript& transcript) {
  if (arguments.json) {
    return json_of(clip, transcript, arguments.words)
               .dump(-1, ' ', false, Json::error_handler_t::replace) +
           "\n";
  }
  const std::string name = arguments.clips.size() > 1 ? clip.path.string() + ": " : std::string();
  if (arguments.words) {
    std::string lines;
    for (const TimedWord& word : transcript.words) {
      lines +=
          fmt::format("{}{:.2f}-{:.2f} {}\n", name, word.begin, word.end, strip_spaces(word.text));
    }
    return lines;
  }
  if (!arguments.times) return name + transcript.text + "\n";
  std::string lines;
  for (const HeardPiece& piece : transcript.pieces) {
    lines += fmt::format("{}{:.2f}-{:.2f} {}\n", name, piece.begin, piece.end, piece.text);
  }
  return lines;
}

// Nothing: it cannot be read, which is said; where it is the only one, that is the error.
std::optional<ReadClip> read_for_whisper(const TranscribeArguments& arguments,
                                         const std::filesystem::path& path) {
  try {
    return ReadClip{path, read_clip(path, kWhisperRate)};
  } catch (const DataError& error) {
    if (arguments.clips.size() == 1) throw;
    log_warning("transcribe", "{} is left out: {}", path.string(), error.what());
    return std::nullopt;
  }
}

int run_transcribe(const TranscribeArguments& arguments) {
  if (arguments.precision != "fp32" && arguments.precision != "bf16") {
    throw ConfigError(
        fmt::format("--precision is \"{}\"; it must be fp32 or bf16.", arguments.precision));
  }
  if (arguments.batch < 1) {
    throw ConfigError(fmt::format("--batch is {}; it must be 1 or more.", arguments.batch));
  }
  check(arguments.device);
  const c10::Device device = open_device(arguments.device);
  const Transcriber transcriber(open_whisper(arguments.whisper), device,
                                arguments.precision == "bf16" ? at::kBFloat16 : at::kFloat);
  const TranscribeOptions options{.language = arguments.language,
                                  .times = arguments.times,
                                  .words = arguments.words,
                                  .batch = arguments.batch};
  if (!options.language.empty()) transcriber.language_code(options.language);
  Progress progress({.title = "Transcribing (clips)", .total = arguments.clips.size()});
  std::vector<ReadClip> waiting;
  std::int64_t left_out = 0;
  const auto transcribe_waiting = [&] {
    std::vector<at::Tensor> sounds;
    for (const ReadClip& clip : waiting) sounds.push_back(clip.sound);
    const auto transcripts = transcriber(sounds, options, {}, [&progress] { progress.advance(); });
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      print(lines_of(arguments, waiting[i], transcripts[i]));
    }
    waiting.clear();
  };
  for (const auto& path : arguments.clips) {
    if (auto clip = read_for_whisper(arguments, path)) {
      waiting.push_back(std::move(*clip));
    } else {
      ++left_out;
      progress.advance();
    }
    if (std::ssize(waiting) == options.batch) transcribe_waiting();
  }
  if (!waiting.empty()) transcribe_waiting();
  if (left_out > 0) {
    throw DataError(fmt::format("{} of {} could not be read; the reasons are above.", left_out,
                                counted(std::ssize(arguments.clips), "clip")));
  }
  return 0;
}

std::function<int()> declare_transcribe(CLI::App& app) {
  const auto arguments = std::make_shared<TranscribeArguments>();
  app.add_option("CLIP", arguments->clips, "Audio files, of any length.")->required();
  app.add_option("--whisper", arguments->whisper,
                 "A Whisper model: OpenAI's .pt, or the folder of one from Hugging Face or of "
                 "faster-whisper.")
      ->required()
      ->type_name("DIR");
  app.add_option("--language", arguments->language,
                 "What is spoken, as in en or fa. [heard in each clip]")
      ->type_name("CODE");
  app.add_flag("--timestamps", arguments->times, "Prints a line for each piece, with its seconds.");
  app.add_flag("--words", arguments->words, "Prints a line for each word, with its seconds.");
  app.add_flag("--json", arguments->json, "Prints one JSON object a line.");
  app.add_option("--batch", arguments->batch, "Clips at once. [8]")->type_name("N");
  app.add_option("--precision", arguments->precision, "fp32 or bf16. [fp32]")
      ->type_name("fp32|bf16")
      ->group("Devices");
  declare_device_flags(app, arguments->device);
  return [arguments] { return run_transcribe(*arguments); };
}

}  // namespace

Command transcribe_command() {
  return {.name = "transcribe",
          .group = "Models",
          .summary = "Writes down what is said in clips, with a Whisper model",
          .declare = declare_transcribe,
          .examples = {"myxtts transcribe hello.wav --whisper faster-whisper-base",
                       "myxtts transcribe clips/*.wav --whisper base.pt --language fa --json"}};
}

}  // namespace myxtts
