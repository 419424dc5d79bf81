// SPDX-License-Identifier: Apache-2.0
#include "session/samples/stage_samples.h"

#include "run/model_folder.h"
#include "session/samples/clip_samples.h"
#include "session/samples/spoken_samples.h"
#include "synth/sampling_json.h"

namespace myxtts {
namespace {

SpeakingModel speaking_model(const StartingModel& start) {
  const std::string json = read_config_text(start.folder);
  return {.folder = start.folder,
          .config = start.network.config,
          .reference = start.network.reference,
          .sampling = parse_sampling_settings(json, files::kConfig),
          .vocabulary = start.vocabulary,
          .tensors = {}};
}

std::unique_ptr<SampleMaker> spoken(const RunConfig& config, const StartingModel& start,
                                    const Corpus& corpus) {
  const SpeakingModel model = speaking_model(start);
  if (const auto& file = config.run.test_sentences) {
    return std::make_unique<SpokenSamples>(
        model, sentences_of_file(*file, config.data.language, model, reference_clip(corpus)));
  }
  if (config.run.samples == 0) return nullptr;
  const auto clips = sample_clips(corpus, start.vocabulary, config.run.samples);
  return std::make_unique<SpokenSamples>(model, texts_of_clips(clips, model));
}

}  // namespace

std::unique_ptr<SampleMaker> samples_of_stage(const RunConfig& config, const StartingModel& start,
                                              const Corpus& corpus) {
  if (config.train.stage == Stage::Gpt) return spoken(config, start, corpus);
  if (config.run.samples == 0 || config.train.stage == Stage::Speaker) return nullptr;
  auto clips = sample_clips(corpus, start.vocabulary, config.run.samples);
  if (config.train.stage == Stage::Dvae) {
    return std::make_unique<ReconstructedClips>(std::move(clips));
  }
  return std::make_unique<CopiedClips>(std::move(clips));
}

}  // namespace myxtts
