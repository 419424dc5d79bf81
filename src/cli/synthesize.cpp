// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>

#include "base/log.h"
#include "cli/command.h"
#include "cli/resynthesis.h"
#include "cli/speaking.h"
#include "cli/speaking_flags.h"
#include "cli/speaking_jobs.h"
#include "synth/voice_file.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr int kExitBySignal = 128;

Voice make_voice(const SpeakingFlags& flags, const SpeakingModel& model,
                 const Synthesizer& synthesizer) {
  if (!flags.voice.empty()) return read_voice(flags.voice, model.config);
  if (!flags.speaker.empty()) return read_speaker(model.folder, flags.speaker, model.config);
  const auto lengths =
      reference_lengths(flags.reference, model.reference, model.config.decoder.input_sample_rate);
  const ReferenceTreatment treatment{.most_samples = lengths.of_each,
                                     .even_loudness = model.reference.sound_norm_refs,
                                     .trim_db = flags.trim_db};
  const auto voice = synthesizer.voice_of(flags.references, treatment, lengths);
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

int run_synthesize(const SpeakingFlags& flags) {
  check(flags);
  if (!flags.resynthesize.empty()) return resynthesize(flags);
  const auto device = speaking_device(flags);
  if (flags.threads) at::set_num_threads(*flags.threads);
  const auto model = open_speaking_model(flags.model);
  const SpeakSettings settings{sampling_settings(flags, model.sampling), flags.speed};
  const bool speaks = flags.text || !flags.text_file.empty();
  const auto jobs = speaks ? make_jobs(flags, model) : std::vector<SpeakingJob>();
  if (goes_into_folder(flags)) fs::create_directories(flags.out);
  Synthesizer synthesizer(model, device, rows_for(flags, jobs));
  const auto voice = make_voice(flags, model, synthesizer);
  if (!speaks) return 0;

  const Interruption interruption;
  Speaking speaking(synthesizer, voice, settings, interruption);
  if (!flags.dump.empty()) speaking.keep_everything();
  const bool is_whole = flags.stream
                            ? speaking.stream(jobs.front(), {.chunk_codes = flags.stream_chunk})
                            : speaking.speak(jobs, synthesizer.rows());
  if (!flags.dump.empty() && speaking.kept_any()) speaking.write_dump(flags.dump, jobs);
  log_info("synthesize", "{}: {}{}.", flags.out.string(), speaking.summary(),
           is_whole ? "" : ", then interrupted");
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
           "myxtts synthesize --model DIR --language en --resynthesize corpora/anna --out copies"}};
}

}  // namespace myxtts
