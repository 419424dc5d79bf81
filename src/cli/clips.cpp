// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "clips/clip_job.h"
#include "clips/voice_activity.h"
#include "listen/transcriber.h"
#include "listen/whisper_files.h"
#include "model/speaker_encoder.h"
#include "run/open_model.h"
#include "session/console.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct ClipsArguments {
  std::vector<fs::path> recordings;
  fs::path out;
  fs::path text;
  std::vector<fs::path> subtitles;
  fs::path whisper;
  fs::path corrections;
  std::string language;
  std::string speakers = "1";
  fs::path speaker_model;
  ClipSettings settings;
  std::int64_t batch = 8;
  std::string precision = "fp32";
  DeviceFlags device;
};

void check_between(const char* flag, double value, double least, double most) {
  if (value >= least && value <= most) return;
  throw ConfigError(fmt::format("{} is {}; it must be from {} to {}.", flag, value, least, most));
}

void require_file(const char* flag, const fs::path& file) {
  std::error_code failed;
  if (fs::exists(file, failed)) return;
  throw DataError(fmt::format("There is no {}; check the path after {}.", file.string(), flag));
}

void check_texts(const ClipsArguments& arguments) {
  if (!arguments.text.empty() && !arguments.subtitles.empty()) {
    throw ConfigError("--text and --subtitles contradict one another; give one of them.");
  }
  const auto files = arguments.subtitles.size();
  if (files > 0 && files != arguments.recordings.size()) {
    throw ConfigError(fmt::format(
        "There {} for {}; give --subtitles once for each recording, in the same order.",
        files == 1 ? "is 1 file of subtitles" : fmt::format("are {} files of subtitles", files),
        counted(std::ssize(arguments.recordings), "recording")));
  }
  if (!arguments.text.empty()) require_file("--text", arguments.text);
  for (const auto& file : arguments.subtitles) require_file("--subtitles", file);
  if (!arguments.whisper.empty()) return;
  if (!arguments.text.empty()) {
    throw ConfigError(
        "--text is laid along what a Whisper model hears. Give one with --whisper DIR "
        "(faster-whisper's base will do).");
  }
  if (arguments.subtitles.empty()) {
    throw ConfigError(
        "Clips need their texts. Give --whisper DIR, a Whisper model that writes them down, and "
        "--text FILE where they were read from a text; or --subtitles FILE.");
  }
}

void check(const ClipsArguments& arguments) {
  check_texts(arguments);
  const auto& settings = arguments.settings;
  check_between("--min-seconds", settings.cuts.min_seconds, 0.5, 60);
  check_between("--max-seconds", settings.cuts.max_seconds, 1, 60);
  check_between("--min-snr", settings.min_snr, 0, 90);
  check_between("--min-confidence", settings.min_confidence, 0, 1);
  check_between("--likeness", settings.speakers.likeness, 0, 1);
  if (settings.cuts.max_seconds < 2 * settings.cuts.min_seconds) {
    throw ConfigError(
        fmt::format("--max-seconds {} leaves no choice of cuts with --min-seconds {}; it must be "
                    "twice as much or more.",
                    settings.cuts.max_seconds, settings.cuts.min_seconds));
  }
  if (arguments.speakers != "1" && arguments.speakers != "auto") {
    throw ConfigError(
        fmt::format("--speakers is \"{}\"; it must be 1 or auto.", arguments.speakers));
  }
  if (arguments.speakers == "auto" && arguments.speaker_model.empty()) {
    throw ConfigError(
        "--speakers auto tells voices apart by a model's speaker encoder. Name a model folder with "
        "--speaker-model DIR.");
  }
  if (arguments.precision != "fp32" && arguments.precision != "bf16") {
    throw ConfigError(
        fmt::format("--precision is \"{}\"; it must be fp32 or bf16.", arguments.precision));
  }
  if (arguments.batch < 1) {
    throw ConfigError(fmt::format("--batch is {}; it must be 1 or more.", arguments.batch));
  }
  check(arguments.device);
}

// The networks that the flags ask for, opened; they live as long as this.
class OpenedNetworks {
 public:
  OpenedNetworks(const ClipsArguments& arguments, c10::Device device)
      : activity_(VoiceActivity::with_fetched_weights()) {
    if (!arguments.whisper.empty()) open_recogniser(arguments, device);
    if (!arguments.speaker_model.empty()) open_voices(arguments.speaker_model, device);
  }

  ClipNetworks networks(const ClipsArguments& arguments) const {
    return {.activity = &activity_,
            .recogniser = recogniser_ ? &*recogniser_ : nullptr,
            .recogniser_is = recogniser_is_,
            .hearing = {.language = arguments.language, .words = true, .batch = arguments.batch},
            .voices = voices_ ? &*voices_ : nullptr,
            .voices_are_of = voices_are_of_};
  }

 private:
  void open_recogniser(const ClipsArguments& arguments, c10::Device device) {
    const auto files = open_whisper(arguments.whisper);
    recogniser_.emplace(files, device, arguments.precision == "bf16" ? at::kBFloat16 : at::kFloat);
    if (!arguments.language.empty()) recogniser_->language_code(arguments.language);
    std::error_code failed;
    recogniser_is_ = fmt::format("{} {} {}", fs::absolute(files.file).string(),
                                 fs::file_size(files.file, failed), arguments.precision);
  }

  void open_voices(const fs::path& given, c10::Device device) {
    const auto folder = find_model("--speaker-model", given);
    model_ = open_model(folder);
    if (is_untrained(folder, ModelPart::Speaker)) {
      throw DataError(fmt::format(
          "The speaker encoder of {} was never trained, so it tells no voices apart. Name a model "
          "whose encoder was, such as the public XTTS v2, or leave out --speaker-model.",
          folder.string()));
    }
    encoder_.emplace(model_->config.speaker_encoder,
                     on_device(model_->model, device, kSpeakerEncoderPrefix));
    voices_.emplace(VoiceListener{.encoder = *encoder_,
                                  .sample_rate = model_->config.speaker_encoder.sample_rate,
                                  .device = device});
    voices_are_of_ = fs::absolute(folder).string();
  }

  VoiceActivity activity_;
  std::optional<Transcriber> recogniser_;
  std::string recogniser_is_;
  std::optional<OpenModel> model_;
  std::optional<SpeakerEncoder> encoder_;
  std::optional<VoiceListener> voices_;
  std::string voices_are_of_;
};

std::string minutes(double seconds) {
  return human_duration(std::chrono::seconds(std::llround(seconds)));
}

std::string described(const CorpusFolder::Summary& summary, const ClipJob& job) {
  std::string text =
      fmt::format("{}, {}, from {} with {} of speech\n", counted(summary.clips, "clip"),
                  minutes(summary.seconds), minutes(job.seconds()), minutes(job.speech_seconds()));
  for (const auto& [reason, length] : summary.left_out) {
    text += fmt::format("left out: {:<12} {}\n", reason, minutes(length));
  }
  if (summary.corrected > 0) text += fmt::format("corrected: {}\n", summary.corrected);
  if (summary.to_check > 0) {
    text += fmt::format("to listen to: {}\n", counted(summary.to_check, "clip"));
  }
  return text;
}

int run_clips(const ClipsArguments& arguments) {
  check(arguments);
  const Interruption interruption;
  const c10::Device device = open_device(arguments.device);
  const OpenedNetworks networks(arguments, device);
  const CorpusFolder folder(arguments.out);
  if (!arguments.corrections.empty()) folder.take_corrections(arguments.corrections);
  if (arguments.speaker_model.empty()) {
    log_info("clips",
             "voices are not told apart; to leave out all but one, give --speaker-model DIR");
  }
  ClipSettings settings = arguments.settings;
  settings.speakers.several = arguments.speakers == "auto";
  ClipJob job(
      arguments.recordings,
      {.book = arguments.text, .subtitles = arguments.subtitles, .language = arguments.language},
      settings, networks.networks(arguments), folder);
  try {
    const auto summary = job.run();
    if (job.found_done() > 0) {
      log_info("clips", "{} of {} done by an earlier run", job.found_done(),
               counted(std::ssize(arguments.recordings), "recording"));
    }
    print(described(summary, job));
    if (summary.clips == 0) {
      throw DataError(fmt::format("No clip could be made; {} says why, stretch by stretch.",
                                  (arguments.out / "clips.json").string()));
    }
    log_info("clips", "{} plays the clips and takes corrections; train with --train-data {}",
             (arguments.out / "clips.html").string(), shell_word(arguments.out.string()));
  } catch (const Interrupted& interrupted) {
    log_info("clips", "interrupted; the same command goes on where this one ended");
    return kExitBySignal + interrupted.signal;
  }
  if (job.failed() == 0) return 0;
  throw DataError(fmt::format("{} of {} could not be used; the reasons are above.", job.failed(),
                              counted(std::ssize(arguments.recordings), "recording")));
}

void declare_cut_flags(CLI::App& app, ClipSettings& settings) {
  app.add_option("--min-seconds", settings.cuts.min_seconds, "The shortest clip. [2]")
      ->type_name("S")
      ->group("Cutting");
  app.add_option("--max-seconds", settings.cuts.max_seconds, "The longest clip. [11]")
      ->type_name("S")
      ->group("Cutting");
  app.add_option("--min-snr", settings.min_snr,
                 "How far the voice must be above what is heard in pauses. [15]")
      ->type_name("DB")
      ->group("Cutting");
  app.add_option("--min-confidence", settings.min_confidence,
                 "How sure a text must be; 1 is sure. [0.8]")
      ->type_name("SHARE")
      ->group("Cutting");
}

std::function<int()> declare_clips(CLI::App& app) {
  const auto arguments = std::make_shared<ClipsArguments>();
  app.add_option("RECORDING", arguments->recordings, "Audio files, of any length.")->required();
  app.add_option("--out", arguments->out, "The corpus to make, or to go on with.")
      ->required()
      ->type_name("DIR");
  app.add_option("--text", arguments->text,
                 "The text that was read: a book or a chapter, as plain text.")
      ->type_name("FILE");
  app.add_option("--subtitles", arguments->subtitles,
                 "SubRip or WebVTT; once for each recording, in their order.")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--whisper", arguments->whisper,
                 "The Whisper model that hears what is said and when.")
      ->type_name("DIR");
  app.add_option("--language", arguments->language, "What is spoken, as in en or fa. [heard]")
      ->type_name("CODE");
  app.add_option("--corrections", arguments->corrections,
                 "What clips.html saved, where it does not lie in the corpus.")
      ->type_name("FILE");
  app.add_option("--speakers", arguments->speakers,
                 "1: keeps the voice that speaks most; auto: all, with speakers.csv. [1]")
      ->type_name("1|auto");
  app.add_option("--speaker-model", arguments->speaker_model,
                 "The model whose speaker encoder tells voices apart.")
      ->type_name("DIR");
  app.add_option("--likeness", arguments->settings.speakers.likeness,
                 "From which cosine on two voices are one. [0.6]")
      ->type_name("C");
  declare_cut_flags(app, arguments->settings);
  app.add_option("--batch", arguments->batch, "Stretches that Whisper hears at once. [8]")
      ->type_name("N");
  app.add_option("--precision", arguments->precision, "Of Whisper: fp32 or bf16. [fp32]")
      ->type_name("fp32|bf16")
      ->group("Devices");
  declare_device_flags(app, arguments->device);
  return [arguments] { return run_clips(*arguments); };
}

}  // namespace

Command clips_command() {
  return {.name = "clips",
          .group = "Data",
          .summary = "Cuts recordings into the clips of a corpus, with their texts",
          .declare = declare_clips,
          .examples = {"myxtts clips book.mp3 --out corpus --text book.txt --whisper whisper-base",
                       "myxtts clips talk.m4a --out corpus --whisper whisper-base --language en "
                       "--speaker-model xtts"}};
}

}  // namespace myxtts
