// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "run/sealed_folder.h"

namespace myxtts {

// The folder of a run's checkpoint, by its step, or of any at a path. Throws DataError where there
// is none; reads none of its files.
std::filesystem::path folder_of_checkpoint(const std::filesystem::path& run,
                                           const std::string& step_or_path);

// The checkpoints of a run.
//
//   RUN/checkpoints/step-0001200/   files of one checkpoint, and checksums.json that names them all
//   RUN/latest -> checkpoints/step-0001200
//   RUN/best -> checkpoints/step-0000800     the lowest validation loss, or the fewest character
//                                            errors; absent where none was measured
//
// A checkpoint appears whole or not at all: it is written under another name, brought to the disk,
// and only then given its own; `latest` and `best` move after that. Whatever a killed process left
// half done is removed by the next one. Old checkpoints go only once a newer one is in place, and
// so do those of later steps, which a run that continues from an earlier one has given up.
//
// One thread at a time, and one process at a time (RunDirectory sees to that).
class CheckpointStore {
 public:
  class Writer;

  // Keeps the last ones and the best.
  explicit CheckpointStore(std::filesystem::path run, std::int64_t keep_last = 3,
                           std::int64_t keep_best = 1, BestBy best_by = BestBy::Loss);

  // A place to put the files of a checkpoint; commit() makes it one.
  Writer write(std::int64_t step, std::optional<double> validation_loss = {});

  // What was heard in the samples of a checkpoint, which is known later than the checkpoint is
  // written; `best` moves accordingly. False: there is no such checkpoint any more. Throws
  // DataError.
  bool note_sample_cer(std::int64_t step, double sample_cer);

  std::vector<Checkpoint> all() const;  // oldest first; only their names were looked at

  // The newest one whose every file is as it was written, and `latest` points at it from then on,
  // and `best` at the best of those up to it; a damaged one is said and passed over. Old ones that
  // a killed process had no time to remove go now. Reads the files.
  std::optional<Checkpoint> newest_valid() const;

  // The checkpoint of a step or at a path. Throws DataError when it is not there or damaged.
  Checkpoint at(const std::string& step_or_path) const;

 private:
  void set_link(const char* name, std::int64_t step) const;
  void set_best(std::int64_t newest) const;
  void put_in_place(const std::filesystem::path& staging, std::int64_t step);
  void remove_old(std::int64_t newest) const;

  std::filesystem::path run_;
  std::filesystem::path folder_;
  std::size_t keep_last_;
  std::size_t keep_best_;
  BestBy best_by_;
};

// The checkpoints of a run, oldest first; none where there is no such run. Changes nothing there.
std::vector<Checkpoint> list_checkpoints(const std::filesystem::path& run);

// The best checkpoint of a run; nothing where none was measured, or there is no such run. Changes
// nothing there.
std::optional<Checkpoint> best_checkpoint(const std::filesystem::path& run,
                                          BestBy best_by = BestBy::Loss);

class CheckpointStore::Writer {
 public:
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // without commit(): nothing is left

  // Where the file of this name is to be written.
  std::filesystem::path operator/(const std::string& name) const { return staging_ / name; }

  // A file that never changes during a run, linked where the file system can, copied elsewhere.
  void link(const std::filesystem::path& file, const std::string& name);

  // Waits for the disk. Throws DataError; the checkpoints before stay as they are.
  void commit();

 private:
  friend class CheckpointStore;
  Writer(CheckpointStore& store, std::int64_t step, std::optional<double> validation_loss);

  CheckpointStore& store_;
  std::int64_t step_;
  std::optional<double> validation_loss_;
  std::filesystem::path staging_;
};

}  // namespace myxtts
