// SPDX-License-Identifier: Apache-2.0
#include "cli/resynthesis.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include "audio/clip.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/interruption.h"
#include "data/manifest.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "synth/copy_synthesis.h"
#include "synth/sound_writer.h"
#include "text/text_encoder.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

const std::string kNoText = ".";
constexpr int kExitBySignal = 128;

// The id as a path that stays in whatever folder it is put into.
fs::path inside(const std::string& id) {
  fs::path path;
  for (const fs::path& part : fs::path(id).relative_path()) {
    if (part != "..") path /= part;
  }
  return path;
}

// The folders of a corpus are in nobody's way where the names alone tell its clips apart.
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

// The clips with what is said in them, where that is known.
std::vector<ManifestEntry> clips_of(const SpeakingFlags& flags) {
  const fs::path& path = flags.resynthesize;
  if (!holds_many_clips(path) && fs::is_regular_file(path)) {
    return {{.id = path.stem().string(), .audio = path.string(), .text = flags.text.value_or("")}};
  }
  return with_short_names(read_manifest({.path = path}).entries);
}

class Resynthesis {
 public:
  explicit Resynthesis(const SpeakingFlags& flags)
      : flags_(flags),
        device_(speaking_device(flags)),
        vocabulary_(Vocabulary::load(flags.model / files::kVocabulary)),
        copy_(open_model(flags.model), device_) {}

  void say(const ManifestEntry& clip) {
    const auto copied = copy_(read_clip(clip.audio, copy_.input_rate()), ids_of(clip));
    const fs::path out = flags_.out / (clip.id + ".wav");
    fs::create_directories(out.parent_path());
    const auto writer = open_sound_writer(out, copy_.sample_rate(), Appears::Whole);
    writer->write(
        {copied.samples.const_data_ptr<float>(), static_cast<std::size_t>(copied.samples.numel())});
    writer->finish();
    seconds_ +=
        static_cast<double>(copied.samples.numel()) / static_cast<double>(copy_.sample_rate());
  }

  double seconds() const { return seconds_; }  // of sound

 private:
  std::vector<std::int64_t> ids_of(const ManifestEntry& clip) const {
    if (clip.text.empty()) {
      log_warning(
          "synthesize",
          "No text is known of {}: the GPT is told its codes and reads a full stop in place "
          "of the text; give --text for a fair copy.",
          clip.audio);
    }
    const std::string& text = clip.text.empty() ? kNoText : clip.text;
    const std::string& language = clip.language.empty() ? flags_.language : clip.language;
    const TextEncoder encoder(vocabulary_, parse_language(language));
    const auto ids = encoder.encode(text).ids;
    return {ids.begin(), ids.end()};
  }

  const SpeakingFlags& flags_;
  c10::Device device_;
  Vocabulary vocabulary_;
  CopySynthesis copy_;
  double seconds_ = 0;
};

}  // namespace

int resynthesize(const SpeakingFlags& flags) {
  const auto began = std::chrono::steady_clock::now();
  const auto clips = clips_of(flags);
  if (flags.threads) at::set_num_threads(*flags.threads);
  Resynthesis resynthesis(flags);
  const Interruption interruption;
  std::size_t failed = 0;
  {
    Progress progress({.title = "Saying again", .total = clips.size()});
    for (const ManifestEntry& clip : clips) {
      if (interruption.came()) return kExitBySignal + interruption.signal();
      try {
        resynthesis.say(clip);
      } catch (const DataError& error) {  // counted, and said at the end
        log_warning("synthesize", "{} was left out: {}", clip.audio, error.what());
        ++failed;
      }
      progress.advance();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  log_info("synthesize", "{}: {} of {} clips said again, {:.2f} s of speech in {:.2f} s.",
           flags.out.string(), clips.size() - failed, clips.size(), resynthesis.seconds(),
           took.count());
  if (failed > 0) {
    throw DataError(fmt::format("{} of {} clips could not be said again; the reasons are above.",
                                failed, clips.size()));
  }
  return 0;
}

}  // namespace myxtts
