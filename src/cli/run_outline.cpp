// SPDX-License-Identifier: Apache-2.0
#include "cli/run_outline.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "data/corpus.h"
#include "run/model_folder.h"
#include "session/starting_model.h"
#include "text/vocabulary.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

Vocabulary vocabulary_for(RunConfig& config, const fs::path& scratch) {
  TrainConfig& train = config.train;
  if (train.init) return Vocabulary::load(*train.init / files::kVocabulary);
  const std::string json = vocabulary_of_new_model(config);
  train.vocab = scratch / files::kVocabulary;
  write_file_atomically(*train.vocab, bytes_of(json));
  return Vocabulary::parse(json, "the new vocabulary");
}

}  // namespace

double RunOutline::first_epoch_share(const DevicePlan& plan) const {
  const TrainConfig& train = settings.values.train;
  const auto clips_a_step = static_cast<double>(plan.batch_size * plan.grad_accum);
  const double epoch = std::max(1.0, static_cast<double>(visits) / clips_a_step);
  const double all = static_cast<double>(train.epochs) * epoch;
  const double steps = std::min(all, static_cast<double>(train.max_steps.value_or(INT64_MAX)));
  return std::min(1.0, epoch / steps);
}

RunOutline outline_run(EffectiveConfig settings, const std::optional<fs::path>& model,
                       const OutlineFolders& folders) {
  RunOutline outline{.settings = std::move(settings)};
  RunConfig& config = outline.settings.values;
  if (model) {
    config.train.init = model;
    config.train.vocab.reset();
  }
  const Vocabulary vocabulary = vocabulary_for(config, folders.scratch);
  const Corpus corpus = Corpus::open(config.data, vocabulary, folders.indexes);
  outline.corpus = fmt::format("{:016x}", corpus.fingerprint());
  for (const VisitGroup& group : corpus.training_groups()) outline.visits += group.visits;
  return outline;
}

}  // namespace myxtts
