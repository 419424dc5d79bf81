// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/effective_config.h"
#include "config/model_json.h"
#include "config/run_config.h"
#include "model/named_tensors.h"
#include "run/open_model.h"
#include "text/vocabulary.h"

namespace myxtts {

// What a run begins with, besides its settings: the network's tensors on the CPU, and a folder with
// the files of a model that its part never changes, which every checkpoint links to.
struct StartingModel {
  OpenModel network = {};
  Vocabulary vocabulary;
  std::filesystem::path folder = {};  // RUN/start
  bool from_nothing = false;          // every part is random
  PartFacts part = {};                // that is trained

  NamedTensors untrained() const;  // of the file that the trained ones are in, the rest
  std::vector<std::filesystem::path> fixed_files() const;
};

// The model of a folder: that of --init, or a checkpoint. Its config.json, vocab.json, voices,
// licence and the tensors' file that the part does not train are put into RUN/start: as copies
// that nothing done to the folder later can change, or linked where they are the run's own. Throws
// DataError; ConfigError when `asked_size`, the --model-size somebody wrote, is not its own.
StartingModel start_from_folder(const std::filesystem::path& model,
                                const std::filesystem::path& run, ModelPart part,
                                const std::optional<std::string>& asked_size = {});

// The --model-size that somebody asked for; nothing: nobody did. A file that `config` or a run
// wrote names the default too, and that asks for nothing.
std::optional<std::string> asked_size(const EffectiveConfig& settings);

// Where --resume goes on: throws ConfigError when --model-size, --init or --vocab are of another
// network than the run's, which keeps its own. Reads what it compares and changes nothing.
void refuse_other_network(const EffectiveConfig& settings);

// The scale of mel bands that a new model's corpus has, before anything is trained with them: in
// the network, and in the file of RUN/start where it stands there.
void set_mel_stats(StartingModel& start, const at::Tensor& mel_stats);

// Random weights of --model-size by --seed, with the vocabulary of --vocab, or one that is learnt
// from the texts of --train-data. Throws DataError, ConfigError.
StartingModel start_from_nothing(const RunConfig& config, const std::filesystem::path& run);

// Of a vocabulary what the sizes of a network depend on.
TextIds ids_of(const Vocabulary& vocabulary);

// --vocab FILE, or one learnt from the texts of --train-data, with --vocab-pieces pieces at most or
// by the usual rule: the file's content. Throws DataError,
// ConfigError.
std::string vocabulary_of_new_model(const RunConfig& config);

}  // namespace myxtts
