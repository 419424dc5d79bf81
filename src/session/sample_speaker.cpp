// SPDX-License-Identifier: Apache-2.0
#include "session/sample_speaker.h"

#include <cmath>
#include <sstream>
#include <system_error>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "run/model_folder.h"
#include "synth/sampling_json.h"
#include "synth/seam.h"
#include "synth/sound_writer.h"
#include "synth/synthesizer.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = 1 << 20;  // bytes
constexpr double kGoodReference = 3.0;         // seconds

std::vector<std::vector<TextPiece>> read_sentences(const SampleSettings& settings,
                                                   const StartingModel& start) {
  const Language language = parse_language(settings.language);
  const TextEncoder encoder(start.vocabulary, language);
  std::vector<std::vector<TextPiece>> sentences;
  std::istringstream lines(read_text_file(settings.sentences, "file of sentences", kLargestFile));
  for (std::string line; std::getline(lines, line);) {
    auto pieces = text_pieces(line, language, encoder, most_text_tokens(start.network.config.gpt));
    if (!pieces.empty()) sentences.push_back(std::move(pieces));
  }
  if (sentences.empty()) {
    throw DataError(
        fmt::format("{} holds no sentence; write one a line.", settings.sentences.string()));
  }
  return sentences;
}

// The first clip that is long enough for a voice, else the longest.
fs::path reference_clip(const Corpus& corpus) {
  const auto clips = corpus.validation().empty() ? corpus.training() : corpus.validation();
  ClipNumber best = clips.front();
  for (const ClipNumber number : clips) {
    const std::int64_t samples = corpus.clip(number).samples;
    if (samples > corpus.clip(best).samples) best = number;
    if (static_cast<double>(samples) >= kGoodReference * static_cast<double>(kModelRate)) {
      return fs::path(corpus.clip(number).audio);
    }
  }
  return fs::path(corpus.clip(best).audio);
}

ReferenceLengths lengths_of(const ReferenceConfig& config, std::int64_t rate) {
  const auto samples = [rate](double seconds) {
    return static_cast<std::int64_t>(std::llround(seconds * static_cast<double>(rate)));
  };
  return {.of_each = samples(config.max_ref_len),
          .for_latents = samples(config.gpt_cond_len),
          .latents_piece = samples(config.gpt_cond_chunk_len)};
}

std::span<float> values_of(at::Tensor& samples) {
  return {samples.mutable_data_ptr<float>(), static_cast<std::size_t>(samples.numel())};
}

}  // namespace

SampleSpeaker::SampleSpeaker(const SampleSettings& settings, StageTraining& training,
                             const StartingModel& start, const Corpus& corpus)
    : settings_(settings),
      training_(training),
      start_(start),
      reference_(reference_clip(corpus)),
      sentences_(read_sentences(settings, start)),
      jobs_(1) {
  threads_.start("samples", [this] { work(); });
}

SampleSpeaker::~SampleSpeaker() {
  if (busy_ && !stopped_) log_info("train", "waiting for the last test sentences");
  jobs_.finish();
}

void SampleSpeaker::stop() {
  stopped_ = true;
  jobs_.stop();
}

void SampleSpeaker::evaluated(const EvaluationReport& report) {
  if (busy_.exchange(true)) {
    log_info("train", "step {}: the test sentences of an earlier step are still being spoken",
             report.step);
    return;
  }
  Job job{.step = report.step};
  // The measurement waited for the device, and the next update would change them.
  for (const auto& [name, tensor] : training_.weights()) {
    if (!start_.network.model.contains(name)) continue;
    job.weights.emplace(name, tensor.to(at::kCPU, at::kFloat, /*non_blocking=*/false,
                                        /*copy=*/true));
  }
  if (!jobs_.push(std::move(job))) busy_ = false;  // stopped
}

void SampleSpeaker::work() {
  at::set_num_threads(1);  // the other cores train
  while (auto job = jobs_.pop()) {
    try {
      speak(*job);
    } catch (const Error& error) {  // a run does not end for want of samples
      log_warning("train", "the test sentences of step {} were not spoken: {}", job->step,
                  error.what());
    }
    busy_ = false;
  }
}

void SampleSpeaker::speak(const Job& job) {
  const at::NoGradGuard no_grad;
  const OpenModel& network = start_.network;
  const std::string json = read_config_text(start_.folder);
  SpeakingModel model{.folder = start_.folder,
                      .config = network.config,
                      .reference = network.reference,
                      .sampling = parse_sampling_settings(json, files::kConfig),
                      .vocabulary = start_.vocabulary,
                      .tensors = network.model};
  for (const auto& [name, tensor] : job.weights) model.tensors.insert_or_assign(name, tensor);
  Synthesizer synthesizer(model, c10::kCPU, 1);
  const auto lengths = lengths_of(network.reference, network.config.decoder.input_sample_rate);
  const Voice voice = synthesizer.voice_of(
      {reference_},
      {.most_samples = lengths.of_each, .even_loudness = network.reference.sound_norm_refs},
      lengths);
  const fs::path folder = settings_.run / "samples" / fmt::format("step-{:07}", job.step);
  std::error_code failed;
  fs::create_directories(folder, failed);
  const auto on_codes = [this](std::int64_t) { return !stopped_; };
  for (std::size_t number = 0; number < sentences_.size() && !stopped_; ++number) {
    const auto writer = open_sound_writer(folder / fmt::format("{:02}.wav", number + 1),
                                          synthesizer.sample_rate(), Appears::Whole);
    const auto& pieces = sentences_[number];
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      auto spoken =
          synthesizer.speak({&pieces[piece], 1}, voice, {.sampling = model.sampling}, on_codes);
      if (stopped_) return;
      const auto length = seam_length(synthesizer.sample_rate());
      const auto samples = values_of(spoken.front().samples);
      if (piece > 0) fade_in(samples, length);
      if (piece + 1 < pieces.size()) fade_out(samples, length);
      writer->write(samples);
    }
    writer->finish();
  }
  log_info("train", "step {}: {} test sentences are in {}", job.step, sentences_.size(),
           folder.string());
}

}  // namespace myxtts
