// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "session/console.h"
#include "session/voice/voice_project.h"
#include "text/tokenizer.h"

namespace myxtts {
namespace {

struct VoiceArguments {
  VoiceOrder order;
  bool dry_run = false;
  DeviceFlags device;
};

// As `train` and the others take them.
std::vector<std::string> words_of(const DeviceFlags& flags) {
  std::vector<std::string> words;
  if (flags.device != "auto") words.insert(words.end(), {"--device", flags.device});
  if (flags.model_gpu) words.insert(words.end(), {"--model-gpu", std::to_string(*flags.model_gpu)});
  return words;
}

void require_there(const char* what, const std::filesystem::path& path) {
  std::error_code failed;
  if (path.empty() || std::filesystem::exists(path, failed)) return;
  throw DataError(fmt::format("{} {} is not there. Check the path.", what, path.string()));
}

void check_sources(const VoiceOrder& order) {
  if (order.whisper.empty() && order.subtitles.empty()) {
    throw ConfigError(
        "Somebody has to write down what is said. Give --whisper DIR, a Whisper model, and --text "
        "FILE where a text was read; or --subtitles FILE.");
  }
  for (const auto& recording : order.recordings) require_there("The recording", recording);
  require_there("--whisper", order.whisper);
  require_there("--text", order.text);
  for (const auto& file : order.subtitles) require_there("--subtitles", file);
}

constexpr std::array<std::pair<VoiceStep, const char*>, 4> kVoiceSteps{
    {{VoiceStep::Clips, "cutting clips"},
     {VoiceStep::Check, "looking the corpus over"},
     {VoiceStep::Train, "training"},
     {VoiceStep::Speak, "speaking"}}};

// The exit code.
int make_voice(VoiceProject& project, const Interruption& interruption) {
  project.begin();
  for (const auto& [step, title] : kVoiceSteps) {
    if (project.is_done(step)) {
      log_info("voice", "{}: done before", title);
      continue;
    }
    const auto running = start_command(project.command(step));
    const int code = finish_command(*running, interruption);
    if (code == 0 && !interruption.came()) continue;
    if (interruption.came()) {
      log_info("voice", "{} was interrupted; the same command goes on from here", title);
    } else {
      log_info("voice", "{} failed; once its reason above is put right, the same command goes on",
               title);
    }
    return code != 0 ? code : kExitBySignal + interruption.signal();
  }
  if (project.corpus_is_newer_than_training()) {
    log_warning("voice",
                "the corpus changed since training began; to train on what it is now, move the "
                "folder run/ of the voice away and type the same command again");
  }
  project.write_page();
  print(
      fmt::format("\n{} plays three sentences and shows how the voice was made. To speak, type:"
                  "\n  {}\n",
                  project.page().string(), project.speaking_command()));
  return 0;
}

// What the last step would refuse, before the first.
void require_spoken(const VoiceOrder& order) {
  const Vocabulary vocabulary = Vocabulary::load(order.init / files::kVocabulary);
  const TextEncoder encoder(vocabulary, parse_language(order.language));
}

int run_voice(VoiceArguments arguments) {
  check(arguments.device);
  check_sources(arguments.order);
  VoiceOrder& order = arguments.order;
  order.init = find_model("--init", order.init);
  require_spoken(order);
  warn_of_untrained_parts(order.init, {ModelPart::Gpt});
  order.device = words_of(arguments.device);
  order.threads = arguments.device.threads;
  if (order.epochs && *order.epochs < 1) {
    throw ConfigError(fmt::format("--epochs is {}; it must be 1 or more.", *order.epochs));
  }
  VoiceProject project(order);
  if (arguments.dry_run) {
    print(project.plan(voice_machine(order.device)));
    return 0;
  }
  const Interruption interruption;
  return make_voice(project, interruption);
}

std::function<int()> declare_voice_command(CLI::App& app) {
  const auto arguments = std::make_shared<VoiceArguments>();
  VoiceOrder& order = arguments->order;
  app.add_option("NAME", order.folder, "The folder to make, or to go on with.")->required();
  app.add_option("RECORDING", order.recordings, "Audio files, of any length.")->required();
  app.add_option("--init", order.init, "The model to fine-tune.")->required()->type_name("DIR");
  app.add_option("--language", order.language, "What is spoken, as in en or fa.")
      ->required()
      ->type_name("CODE");
  app.add_option("--whisper", order.whisper, "The Whisper model that hears what is said and when.")
      ->type_name("DIR");
  app.add_option("--text", order.text, "The text that was read, as plain text.")->type_name("FILE");
  app.add_option("--subtitles", order.subtitles, "SubRip or WebVTT, one file for each recording.")
      ->type_name("FILE");
  app.add_option("--epochs", order.epochs,
                 "Times through the corpus, at most. [by the minutes of speech]")
      ->type_name("N");
  app.add_flag("--dry-run", arguments->dry_run,
               "Prints what would be done and how long it would take, and does nothing.");
  declare_device_flags(app, arguments->device);
  return [arguments] { return run_voice(*arguments); };
}

}  // namespace

Command voice_command() {
  return {.name = "voice",
          .group = "Training",
          .summary = "Makes a voice of recordings: clips, training, sentences, a page",
          .declare = declare_voice_command,
          .examples = {"myxtts voice anna interview.m4a --init xtts-v2 --whisper whisper-base "
                       "--language en",
                       "myxtts voice anna chapter*.mp3 --init xtts-v2 --whisper whisper-base "
                       "--text book.txt --language en --dry-run"}};
}

}  // namespace myxtts
