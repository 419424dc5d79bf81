// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/role_device.h"
#include "model/named_tensors.h"
#include "run/checkpoint_store.h"
#include "run/model_folder.h"
#include "run/training_state.h"

namespace myxtts {

class BackgroundSave;

// What a training run wants kept, as it is on the device at one moment.
struct CheckpointContents {
  TrainingState state = {};
  NamedTensors weights = {};    // fp32, what is trained, on the model device
  NamedTensors optimiser = {};  // on the model device
};

// Writes checkpoints in a thread of its own while training goes on.
//
//   save(): copy queued on the model's stream ──▶ thread: device ─▶ pinned blocks ─▶ files ─▶
//   commit
//
// The copy lies on the device where the role has room for a second set of tensors, else in pinned
// host memory; where neither has, save() waits until the files are written, and says so. Otherwise
// save() waits only while an earlier save is still at work.
//
// A save that fails (a full disk) is said, leaves nothing behind and the checkpoints before as they
// are, and is tried again with the next one; training goes on. The trainer's thread calls every
// method; store and device outlive it. While a save is at work the store is the thread's.
class CheckpointSaver {
 public:
  // What is trained is written to `file` of the model folder, together with `untrained`, the other
  // tensors of that file, on the CPU; `fixed` are files that never change during the run
  // (config.json, vocab.json ...), linked into each checkpoint under their own names.
  CheckpointSaver(CheckpointStore& store, RoleDevice& device, const NamedTensors& untrained,
                  std::vector<std::filesystem::path> fixed,
                  const std::string& file = files::kModel);
  ~CheckpointSaver();

  // Before the first step, when the device holds what it will hold: where a copy of such tensors
  // has no room beside that, host memory for it is pinned in the background, so that the first save
  // need not. Waits for nothing.
  void prepare(const CheckpointContents& contents);

  void save(const CheckpointContents& contents);

  // Waits for the save at work. False: it failed, and why was said.
  bool finish();

 private:
  RoleDevice& device_;
  const NamedTensors untrained_;  // background_ points at them
  std::unique_ptr<BackgroundSave> background_;
};

}  // namespace myxtts
