// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include "audio/resample.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "base/progress.h"
#include "cli/synthesize.h"
#include "data/layouts/manifest.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "synth/copy_synthesis.h"
#include "synth/sound_writer.h"
#include "text/tokenizer.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

int resynthesize(const SpeakingFlags& flags) {
  const auto began = std::chrono::steady_clock::now();
  const Manifest manifest = clips_of(flags);
  const auto& clips = manifest.entries;
  const auto& missing = manifest.skipped;
  const auto device = open_device(flags.device);
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
  log_info("synthesize", "{}: {} of {} said again, {:.2f} s of speech in {:.2f} s.",
           flags.out.string(), all - failed, counted(static_cast<std::int64_t>(all), "clip"),
           seconds, took.count());
  if (failed > 0) {
    throw DataError(fmt::format("{} of {} could not be said again; see above why.", failed,
                                counted(static_cast<std::int64_t>(all), "clip")));
  }
  return 0;
}

}  // namespace myxtts
