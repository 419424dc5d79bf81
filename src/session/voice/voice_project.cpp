// SPDX-License-Identifier: Apache-2.0
#include "session/voice/voice_project.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "audio/sound_reader.h"
#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/message_text.h"
#include "data/layouts/manifest.h"
#include "device/machine.h"
#include "diagnose/report/markup.h"
#include "model/gpt_specs.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "run/run_directory.h"
#include "text/unicode.h"
#include "watch/run_state.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kVoiceFile = "voice.json";
constexpr const char* kVoiceCorpus = "corpus";
constexpr const char* kVoiceReport = "corpus.html";
constexpr const char* kVoiceRun = "run";
constexpr const char* kVoiceSpoken = "spoken";
constexpr const char* kVoiceTensors = "voice.safetensors";
constexpr std::size_t kLargestOrder = std::size_t{16} << 20U;  // bytes
constexpr std::size_t kSentences = 3;
constexpr std::size_t kReferences = 3;
constexpr std::size_t kShortestSentence = 30;  // characters
constexpr std::size_t kLongestSentence = 160;
constexpr double kKeptShare = 0.9;         // of a recording, as a guess before it is heard
constexpr double kUsualClip = 6;           // seconds, likewise
constexpr double kUsualBitRate = 128'000;  // where a file does not say how long it is

bool is_there(const fs::path& file) {
  std::error_code failed;
  return fs::exists(file, failed);
}

// Whether `file` is there and not older than what it was made from.
bool is_newer(const fs::path& file, const fs::path& source) {
  std::error_code missing;
  const auto made = fs::last_write_time(file, missing);
  if (missing) return false;
  const auto changed = fs::last_write_time(source, missing);
  return !missing && made >= changed;
}

nlohmann::json read_order(const fs::path& file) {
  const auto json = nlohmann::json::parse(
      read_text_file(file, "record of the voice", kLargestOrder), nullptr, false);
  if (!json.is_object() || !json.contains("order")) {
    throw DataError(fmt::format("{} is damaged. Remove it: nothing else is lost.", file.string()));
  }
  return json;
}

// Seconds, as far as its header says; else by its size.
double length_of_recording(const fs::path& file) {
  std::error_code missing;
  try {
    const SoundReader reader(file);
    if (const auto frames = reader.promised_frames()) {
      return static_cast<double>(*frames) / static_cast<double>(reader.sample_rate());
    }
  } catch (const DataError&) {  // `clips` says what is wrong with it; this is a guess
  }
  const auto bytes = fs::file_size(file, missing);
  constexpr double kBits = 8;
  return missing ? 0 : static_cast<double>(bytes) * kBits / kUsualBitRate;
}

std::string guessed(double seconds) {
  return "about " + human_duration(std::chrono::seconds(std::llround(std::max(1.0, seconds))));
}

std::string line_of(const Words& command) {
  std::string line = "myxtts";
  for (const std::string& word : command) line += " " + shell_word(word);
  return line;
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

VoiceMachine voice_machine(const Words& device_flags) {
  SystemProbe probe;
  const auto cpu = std::ranges::find(device_flags, "cpu");
  return {.has_gpu = cpu == device_flags.end() && !probe.gpus().gpus.empty(),
          .cores = probe.cpu().usable_cores()};
}

VoiceProject::VoiceProject(VoiceOrder order) : order_(std::move(order)) {
  const fs::path file = in_folder(kVoiceFile);
  if (!is_there(file)) return;
  const auto before = read_order(file).at("order");
  const auto now = nlohmann::json::parse(described_order());
  for (const auto& [key, value] : now.items()) {
    if (before.contains(key) && before.at(key) == value) continue;
    if (!has_clips()) return;  // nothing was made of it: begin() writes what is asked for now
    throw ConfigError(fmt::format(
        "{} was begun with another {}. Give the same as before, or another NAME for a voice of "
        "its own.",
        order_.folder.string(), key));
  }
}

// What may not change under way, as JSON.
std::string VoiceProject::described_order() const {
  const auto paths = [](const std::vector<fs::path>& files) {
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(file.string());
    return names;
  };
  const nlohmann::ordered_json order{{"RECORDING", paths(order_.recordings)},
                                     {"--init", order_.init.string()},
                                     {"--language", order_.language},
                                     {"--text", order_.text.string()},
                                     {"--subtitles", paths(order_.subtitles)}};
  return order.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void VoiceProject::begin() const {
  std::error_code failed;
  fs::create_directories(order_.folder, failed);
  if (failed) {
    throw DataError(
        fmt::format("The folder {} cannot be made: {}.", order_.folder.string(), failed.message()));
  }
  const fs::path file = in_folder(kVoiceFile);
  if (is_there(file) && has_clips()) return;
  write_file_atomically(file, bytes_of("{\"order\": " + described_order() + "}\n"));
}

bool VoiceProject::has_clips() const {
  return is_there(in_folder(kVoiceCorpus) / "metadata.csv");
}

bool VoiceProject::is_done(VoiceStep step) const {
  const fs::path metadata = in_folder(kVoiceCorpus) / "metadata.csv";
  switch (step) {
    case VoiceStep::Clips:
      return false;  // it finds out itself, and applies corrections
    case VoiceStep::Check:
      return is_newer(in_folder(kVoiceReport), metadata);
    case VoiceStep::Train: {
      const double now =
          std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
              .count();
      return holds_checkpoints(in_folder(kVoiceRun)) &&
             RunStatus::of(in_folder(kVoiceRun), now).state == RunState::Finished;
    }
    case VoiceStep::Speak:
      return is_newer(in_folder(kVoiceTensors), model_that_speaks() / files::kModel) &&
             std::ranges::all_of(sentences(), [this](const Sentence& sentence) {
               return is_there(in_folder(kVoiceSpoken) / (sentence.id + ".wav"));
             });
  }
  return false;
}

// The one that `synthesize --model RUN` takes.
fs::path VoiceProject::model_that_speaks() const {
  const fs::path best = in_folder(kVoiceRun) / "best";
  return is_there(best) ? best : in_folder(kVoiceRun) / "latest";
}

bool VoiceProject::corpus_is_newer_than_training() const {
  return is_newer(in_folder(kVoiceCorpus) / "metadata.csv", in_folder(kVoiceRun) / "config.yaml");
}

Words VoiceProject::command(VoiceStep step) const {
  switch (step) {
    case VoiceStep::Clips:
      return clips_command();
    case VoiceStep::Check:
      return {"prepare",  in_folder(kVoiceCorpus).string(), "--model",    order_.init.string(),
              "--report", in_folder(kVoiceReport).string(), "--language", order_.language};
    case VoiceStep::Train: {
      if (holds_checkpoints(in_folder(kVoiceRun))) {
        return {"train", "--resume", in_folder(kVoiceRun).string()};
      }
      return train_command(recipe(voice_machine(order_.device)));
    }
    case VoiceStep::Speak:
      break;
  }
  std::string lines;
  for (const Sentence& sentence : sentences()) {
    lines += fmt::format("{}|{}\n", sentence.id, sentence.text);
  }
  fs::create_directories(in_folder(kVoiceSpoken));
  write_file_atomically(in_folder(kVoiceSpoken) / "sentences.txt", bytes_of(lines));
  return speak_command();
}

Words VoiceProject::device_words(const char* threads_flag) const {
  Words words = order_.device;
  if (order_.threads) append(words, {threads_flag, std::to_string(*order_.threads)});
  return words;
}

Words VoiceProject::clips_command() const {
  Words words{"clips"};
  for (const fs::path& recording : order_.recordings) words.push_back(recording.string());
  append(words, {"--out", in_folder(kVoiceCorpus).string(), "--language", order_.language});
  if (!order_.whisper.empty()) append(words, {"--whisper", order_.whisper.string()});
  if (!order_.text.empty()) append(words, {"--text", order_.text.string()});
  for (const fs::path& file : order_.subtitles) append(words, {"--subtitles", file.string()});
  // An encoder that never learnt tells no voices apart.
  if (!is_untrained(order_.init, ModelPart::Speaker)) {
    append(words, {"--speaker-model", order_.init.string()});
  }
  append(words, device_words("--threads"));
  return words;
}

Words VoiceProject::train_command(const VoiceRecipe& recipe) const {
  Words words{"train",
              "--init",
              order_.init.string(),
              "--train-data",
              in_folder(kVoiceCorpus).string(),
              "--checkpoint-dir",
              in_folder(kVoiceRun).string(),
              "--language",
              order_.language,
              "--batch-size",
              std::to_string(recipe.batch_size),
              "--epochs",
              std::to_string(order_.epochs.value_or(recipe.epochs)),
              "--lr",
              fmt::format("{:g}", recipe.learning_rate),
              "--schedule",
              "cosine",
              "--warmup-steps",
              "auto",
              "--val-fraction",
              fmt::format("{:.3g}", recipe.val_fraction),
              "--early-stopping",
              "3"};
  append(words, device_words("--model-threads"));
  return words;
}

Words VoiceProject::speak_command() const {
  Words words{"synthesize", "--model", in_folder(kVoiceRun).string()};
  for (const fs::path& clip : references()) append(words, {"--reference", clip.string()});
  append(words, {"--save-voice", in_folder(kVoiceTensors).string(), "--language", order_.language,
                 "--text-file", (in_folder(kVoiceSpoken) / "sentences.txt").string(), "--out",
                 in_folder(kVoiceSpoken).string()});
  append(words, device_words("--threads"));
  return words;
}

std::vector<VoiceProject::Clip> VoiceProject::clips() const {
  std::vector<Clip> clips;
  for (const ManifestEntry& entry : read_manifest({.path = in_folder(kVoiceCorpus)}).entries) {
    clips.push_back({.id = fs::path(entry.audio).stem().string(),
                     .sound = entry.audio,
                     .text = entry.text,
                     .seconds = length_of_recording(entry.audio)});
  }
  return clips;
}

// The longest: they carry most of a voice.
std::vector<fs::path> VoiceProject::references() const {
  auto all = clips();
  std::ranges::stable_sort(all, std::greater<>(), &Clip::seconds);
  std::vector<fs::path> chosen;
  for (std::size_t i = 0; i < std::min(kReferences, all.size()); ++i) {
    chosen.push_back(all[i].sound);
  }
  return chosen;
}

// Of the corpus, so that they are in its language and there is a recording to compare with: one of
// each third.
std::vector<VoiceProject::Sentence> VoiceProject::sentences() const {
  std::vector<Clip> fitting;
  const auto all = clips();
  for (const Clip& clip : all) {
    const std::size_t length = count_code_points(clip.text);
    if (length >= kShortestSentence && length <= kLongestSentence) fitting.push_back(clip);
  }
  if (fitting.size() < kSentences) fitting = all;
  std::vector<Sentence> chosen;
  const std::size_t count = std::min(kSentences, fitting.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Clip& clip = fitting[(2 * i + 1) * fitting.size() / (2 * count)];
    chosen.push_back({clip.id, clip.text});
  }
  return chosen;
}

VoiceRecipe VoiceProject::recipe(const VoiceMachine& machine) const {
  double seconds = 0;
  const auto all = clips();
  for (const Clip& clip : all) seconds += clip.seconds;
  return recipe_for(seconds / 60, std::ssize(all), machine.has_gpu);
}

std::string VoiceProject::plan(const VoiceMachine& machine) const {
  double recorded = 0;
  for (const fs::path& file : order_.recordings) recorded += length_of_recording(file);
  double speech = recorded * kKeptShare;
  auto clip_count = std::max<std::int64_t>(1, std::llround(speech / kUsualClip));
  const bool has_corpus = is_there(in_folder(kVoiceCorpus) / "metadata.csv");
  if (has_corpus) {
    const auto all = clips();
    clip_count = std::ssize(all);
    speech = 0;
    for (const Clip& clip : all) speech += clip.seconds;
  }
  VoiceRecipe recipe = recipe_for(speech / 60, clip_count, machine.has_gpu);
  recipe.epochs = order_.epochs.value_or(recipe.epochs);
  const auto config = parse_model_config(read_config_text(order_.init), order_.init.string());
  const auto weights = parameter_count(gpt_specs(config.gpt));
  const bool needs_hearing = !order_.whisper.empty();
  std::string text = fmt::format("{} of recordings, {} of speech in {}{}\n\n",
                                 human_duration(std::chrono::seconds(std::llround(recorded))),
                                 human_duration(std::chrono::seconds(std::llround(speech))),
                                 counted(clip_count, "clip"), has_corpus ? "" : " by a guess");
  const auto add = [&](const char* title, bool is_finished, double seconds, const Words& command) {
    text += fmt::format("{}: {}\n  {}\n", title, is_finished ? "done" : guessed(seconds),
                        line_of(command));
  };
  add("clips", false, needs_hearing && !has_corpus ? hearing_seconds(recorded, machine) : 10,
      clips_command());
  add("check", has_corpus && is_done(VoiceStep::Check), speech / 100, command(VoiceStep::Check));
  add(fmt::format("train, {}", counted(recipe.steps(clip_count), "step")).c_str(),
      is_done(VoiceStep::Train), training_seconds(recipe, clip_count, speech, weights, machine),
      train_command(recipe));
  text += fmt::format(
      "speak: three sentences of the corpus, and {} with all of it\n\nTimes are guesses: a machine "
      "may be three times faster or slower. Training ends earlier where validation grows.\n",
      page().string());
  return text;
}

std::string VoiceProject::speaking_command() const {
  return line_of({"synthesize", "--model", in_folder(kVoiceRun).string(), "--voice",
                  in_folder(kVoiceTensors).string(), "--language", order_.language, "--text", "...",
                  "--out", "spoken.wav"});
}

namespace {

std::string link_to(std::string_view address, std::string_view text) {
  return fmt::format("<li><a href=\"{}\">{}</a></li>", escaped(address), escaped(text));
}

std::string player_of(const fs::path& sound, std::string_view what) {
  return fmt::format(
      "<figure><figcaption>{}</figcaption><audio controls preload=\"none\" src=\"{}\"></audio>"
      "</figure>",
      escaped(what), escaped(sound.generic_string()));
}

}  // namespace

void VoiceProject::write_page() const {
  const auto all = clips();
  double seconds = 0;
  for (const Clip& clip : all) seconds += clip.seconds;
  std::string body = fmt::format("<h1>{}</h1>\n", escaped(order_.folder.filename().string()));
  body += html_figure(human_count(std::ssize(all)), "clips") +
          html_figure(fmt::format("{:.1f} min", seconds / 60), "speech") +
          html_figure(escaped(order_.language), "language");
  body += "<h2>How it sounds</h2>\n";
  for (const Sentence& sentence : sentences()) {
    body += fmt::format(
        "<section><p dir=\"auto\">{}</p><div class=\"pair\">{}{}</div></section>\n",
        escaped(sentence.text),
        player_of(fs::path(kVoiceSpoken) / (sentence.id + ".wav"), "the model"),
        player_of(fs::path(kVoiceCorpus) / "wavs" / (sentence.id + ".wav"), "the recording"));
  }
  body +=
      fmt::format("<h2>To speak</h2>\n<pre dir=\"ltr\">{}</pre>\n<h2>How it was made</h2>\n<ul>",
                  escaped(speaking_command()));
  body +=
      link_to("corpus/clips.html", "The clips: to listen to, to correct, and what was left out") +
      link_to(kVoiceReport, "The corpus, looked over") +
      link_to("run/report.html", "The training: curves, samples, settings") + "</ul>\n";
  const std::string page_text = html_page(
      order_.folder.filename().string(), body,
      ".pair { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; } audio { "
      "max-width: 100%; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }");
  write_file_atomically(page(), bytes_of(page_text));
}

}  // namespace myxtts
