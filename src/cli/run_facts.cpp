// SPDX-License-Identifier: Apache-2.0
#include "cli/run_facts.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "config/value_text.h"
#include "data/batch_plan.h"
#include "data/corpus.h"
#include "device/system_probe.h"
#include "run/model_folder.h"
#include "session/plan_run.h"
#include "session/starting_model.h"
#include "text/vocabulary.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// The folder itself, or the nearest above it that exists.
fs::path existing_folder(fs::path folder) {
  std::error_code unreadable;
  folder = fs::absolute(folder);
  while (!fs::exists(folder, unreadable) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

BatchShape shape_of(const BatchPlan& batches, const CorpusFacts& corpus) {
  BatchShape shape{.clips = batches.slots()};
  if (!batches.sizes().empty()) {
    const RowSizes& largest = batches.sizes().back();
    shape.tokens = largest.tokens;
    shape.text_targets = largest.text_targets;
    shape.audio_targets = largest.audio_targets;
    shape.segments = largest.segments;
    shape.longest = largest.longest;
  }
  const auto seconds_per_clip =
      corpus.training_hours * 3600.0 / static_cast<double>(corpus.training_clips);
  shape.samples = static_cast<std::int64_t>(seconds_per_clip * kModelRate) * shape.clips;
  return shape;
}

// Of --init, of --vocab, or learnt as the run itself would learn it.
Vocabulary vocabulary_of(const RunConfig& config) {
  if (config.train.init) return Vocabulary::load(*config.train.init / files::kVocabulary);
  return Vocabulary::parse(vocabulary_of_new_model(config), "the new vocabulary");
}

CorpusFacts facts_of_corpus(const RunConfig& config, const GptConfig& gpt, const DevicePlan& plan) {
  const auto vocabulary = vocabulary_of(config);
  fs::create_directories(config.run.checkpoint_dir);
  const Corpus corpus = Corpus::open(config.data, vocabulary, config.run.checkpoint_dir);
  CorpusFacts facts{.training_clips = static_cast<std::int64_t>(corpus.training().size()),
                    .validation_clips = static_cast<std::int64_t>(corpus.validation().size()),
                    .left_out = static_cast<std::int64_t>(corpus.skipped().size())};
  for (const ClipNumber number : corpus.training()) {
    const ClipView clip = corpus.clip(number);
    facts.training_hours += static_cast<double>(clip.samples) / (3600.0 * kModelRate);
    facts.source_bytes += 2 * clip.source_frames;
  }
  if (facts.training_clips == 0) return facts;
  // Sizes are wanted for every run; without static shapes a batch is no larger than these.
  const BatchPlan batches(corpus, gpt,
                          {.batch_size = plan.batch_size,
                           .batch_tokens = plan.batch_tokens,
                           .static_shapes = true,
                           .seed = static_cast<std::uint64_t>(config.train.seed)});
  facts.batches_per_epoch = batches.steps_per_epoch();
  facts.largest_batch = shape_of(batches, facts);
  facts.useful_share = batches.useful_share();
  return facts;
}

// What `part` gives, or the sentence it failed with.
template <typename Part, typename T>
void gather(Part part, std::optional<T>& result, std::string& fault) {
  try {
    result = part();
  } catch (const Error& error) {
    fault = one_line(error.what());
  } catch (const fs::filesystem_error& error) {
    fault = fmt::format("{}: {}.", error.path1().string(), error.code().message());
  }
}

}  // namespace

ModelFacts facts_of_model(const TrainConfig& config) {
  return {.config = sizes_to_train(config),
          .source = config.init ? config.init->string() : config.model_size};
}

RunFacts gather_run_facts(const RunConfig& config) {
  SystemProbe probe;
  RunFacts facts{.config = config, .machine = discover_machine(probe)};
  facts.disk = probe.disk(existing_folder(config.run.checkpoint_dir));
  gather([&] { return facts_of_model(config.train); }, facts.model, facts.model_fault);
  const ModelConfig sizes =
      facts.model ? facts.model->config : model_preset(config.train.model_size);
  gather([&] { return plan_and_open_devices(config, sizes); }, facts.plan, facts.device_fault);
  // A corpus can be looked at without its devices.
  const DevicePlan plan =
      facts.plan.value_or(DevicePlan{.batch_size = config.train.batch_size.value_or(1)});
  gather([&] { return facts_of_corpus(config, sizes.gpt, plan); }, facts.corpus,
         facts.corpus_fault);
  return facts;
}

}  // namespace myxtts
