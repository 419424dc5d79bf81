// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/thread_group.h"
#include "run/checkpoint_files.h"
#include "run/checkpoint_store.h"
#include "run/device_reader.h"
#include "run/placed_tensors.h"
#include "run/snapshot.h"
#include "run/training_state.h"

namespace myxtts {

// A checkpoint as it lies on the device.
struct PlacedCheckpoint {
  TrainingState state = {};
  PlacedTensors model = {};
  PlacedTensors optimiser = {};
};

// What CheckpointSaver does, without LibTorch: see there.
class BackgroundSave {
 public:
  struct Places {
    CheckpointStore& store;
    RoleDevice& device;
    Snapshot::TakeMemory device_memory = {};  // nothing: host memory
    std::size_t host_piece = Snapshot::kHostPiece;
    std::string model_file = files::kModel;  // that `model` and `untrained` are written to
  };

  BackgroundSave(const Places& places, PlacedTensors untrained,
                 std::vector<std::filesystem::path> fixed);

  void prepare_in_host_memory(PlacedCheckpoint checkpoint);
  void save(PlacedCheckpoint checkpoint);
  bool finish();

 private:
  void write(const PlacedCheckpoint& checkpoint);
  void write_files(const PlacedCheckpoint& checkpoint);
  void write_tensors(const std::filesystem::path& file, const PlacedTensors& tensors);

  CheckpointStore& store_;
  RoleDevice& device_;
  const std::string model_file_;
  const PlacedTensors untrained_;
  const std::vector<std::filesystem::path> fixed_;
  Snapshot snapshot_;
  DeviceReader reader_;      // the thread's
  bool succeeded_ = true;    // the thread's, until it is joined
  ThreadGroup thread_ = {};  // last: it uses what is above
};

}  // namespace myxtts
