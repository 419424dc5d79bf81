// SPDX-License-Identifier: Apache-2.0
#include "run/resume.h"

#include "base/error.h"
#include "base/log.h"
#include "run/checkpoint_files.h"
#include "weights/byte_reader.h"

namespace myxtts {
namespace {

void refuse_second_run(const RunDirectory& directory) {
  if (!directory.has_checkpoints()) return;
  throw DataError(fmt::format(
      "{} holds the checkpoints of an earlier run: continue it with --resume, or give the new run "
      "a folder of its own with --checkpoint-dir.",
      directory.path().string()));
}

std::optional<Checkpoint> newest(const RunDirectory& directory, const CheckpointStore& store) {
  if (!directory.has_checkpoints()) {
    log_info("run", "There is no checkpoint in {} yet: the run begins from the start.",
             directory.path().string());
    return {};
  }
  auto found = store.newest_valid();
  if (found) return found;
  throw DataError(fmt::format(
      "Every checkpoint in {} is damaged; begin again in another folder with --checkpoint-dir.",
      (directory / "checkpoints").string()));
}

void refuse_other_stage(const RunDirectory& directory, const Checkpoint& start, Stage stage) {
  const std::string trained = read_training_state(start.folder / files::kState).stage;
  if (trained == name_of(stage)) return;
  throw ConfigError(fmt::format(
      "{0} trains the stage {1}, and --stage is {2}. To continue it, type: myxtts train --config "
      "{0}/config.yaml --resume; to train {2} from the model it has, type: myxtts train --stage "
      "{2} --init {3} --checkpoint-dir DIR",
      directory.path().string(), printable(trained), name_of(stage), start.folder.string()));
}

// Those that the next save removes.
void say_later_ones(const CheckpointStore& store, const Checkpoint& start) {
  const auto all = store.all();
  std::string steps;
  for (const auto& each : all) {
    if (each.step > start.step) steps += fmt::format("{}{}", steps.empty() ? "" : ", ", each.step);
  }
  if (steps.empty()) return;
  log_warning("run",
              "The run goes on from step {}: the checkpoints of later steps ({}) are removed with "
              "its next save.",
              start.step, steps);
}

}  // namespace

std::optional<Checkpoint> find_starting_point(const RunDirectory& directory,
                                              const CheckpointStore& store,
                                              const std::optional<std::string>& resume,
                                              Stage stage) {
  if (!resume) {
    refuse_second_run(directory);
    return {};
  }
  auto start = *resume == "latest" ? newest(directory, store) : store.at(*resume);
  if (!start) return start;
  refuse_other_stage(directory, *start, stage);
  say_later_ones(store, *start);
  return start;
}

TrainingState continue_with(TrainingState state, const std::string& corpus,
                            const std::string& batches) {
  std::string changes;
  if (state.corpus != corpus) {
    changes = fmt::format("the clips to train on (fingerprint {}, was {})", corpus,
                          printable(state.corpus));
  }
  if (state.batches != batches) {
    changes += fmt::format("{}how batches are made ({}; was {})", changes.empty() ? "" : " and ",
                           batches, printable(state.batches));
  }
  if (changes.empty()) return state;
  log_warning(
      "run",
      "Since the checkpoint of step {} was made, {} changed. The run goes on, and its epoch "
      "{} begins again; it will not be what it would have been without the change.",
      state.step, changes, state.position.epoch + 1);
  state.position.step = 0;
  state.corpus = corpus;
  state.batches = batches;
  return state;
}

}  // namespace myxtts
