// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_group.h"
#include "device/role_device.h"
#include "run/checkpoint_store.h"
#include "run/model_folder.h"
#include "run/training_state.h"
#include "weights/safetensors.h"

namespace myxtts {

// A dense tensor where it lies: on a device or in host memory that somebody else owns.
struct PlacedTensor {
  TensorKind kind = {};
  DeviceBytes place = {};
  std::size_t bytes = 0;
};

using PlacedTensors = std::map<std::string, PlacedTensor, std::less<>>;

// Brings tensors from a device to a file, piece by piece: while one piece is being written, the
// next ones are on their way through a few blocks of pinned memory, on a stream of its own. Tensors
// in host memory pass by without a copy.
//
// One thread at a time; the device outlives it.
class DeviceReader {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  explicit DeviceReader(RoleDevice& device, std::size_t block_bytes = kBlockBytes);

  // Queues a tensor; its bytes come to `sink` in pieces, after those of the tensors before it.
  // Waits for the device.
  void read(const PlacedTensor& tensor, const Sink& sink);

  // Until `sink` has everything. Waits for the device.
  void finish(const Sink& sink);

  // After an error: forgets what is under way. Waits for the device.
  void abandon();

 private:
  static constexpr std::size_t kBlockBytes = 16 << 20;
  static constexpr std::size_t kBlocks = 4;

  struct Block {
    HostMemory memory;
    Event copied;
  };
  struct Piece {
    std::span<const std::byte> bytes;
    Block* block = nullptr;  // null: the bytes are in host memory anyway
  };

  void copy(const PlacedTensor& tensor, std::size_t begin, std::size_t count, const Sink& sink);
  void hand_over_oldest(const Sink& sink);

  RoleDevice& device_;
  const std::size_t block_bytes_;
  Stream stream_;
  std::vector<Block> blocks_;
  std::vector<Block*> free_;
  std::deque<Piece> under_way_;  // in order
};

// A copy of tensors as they are at one place of the device's stream, while the stream goes on to
// change them.
//
// The copy lies on the device where that has room (a few milliseconds for gigabytes), otherwise in
// pinned host memory. The memory is taken with the first copy, or in time for it, and kept, so that
// every save costs the same. One thread at a time; the device outlives it.
class Snapshot {
 public:
  // Memory of the device, or null where there is no room for that many bytes.
  using TakeMemory = std::function<std::shared_ptr<std::byte>(std::size_t)>;

  static constexpr std::size_t kHostPiece = 64 << 20;  // bytes

  // A tensor larger than a piece of host memory has a piece of its own.
  Snapshot(RoleDevice& device, TakeMemory take_on_device, std::size_t host_piece = kHostPiece);

  // Takes host memory for copies of such tensors. The driver takes a second or two over gigabytes
  // and lets nobody queue work meanwhile, so they are taken piece by piece. Waits for that.
  void prepare_in_host_memory(std::span<PlacedTensors* const> groups);

  // Queues the copies on the device's stream, and points each tensor at its own; waits for nothing.
  // False: no memory has room, and the tensors point at where they were.
  [[nodiscard]] bool take(std::span<PlacedTensors* const> groups);

  RoleDevice& device() const { return device_; }

  // The stream's mark behind the copies.
  const Event& taken() const { return taken_; }

 private:
  using Sizes = std::vector<std::size_t>;

  struct Piece {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };

  bool has_room(std::span<PlacedTensors* const> groups);
  bool holds(const Sizes& sizes) const;
  bool take_in_host_memory(const Sizes& sizes);

  RoleDevice& device_;
  const TakeMemory take_on_device_;
  const std::size_t host_piece_;
  std::vector<Piece> pieces_;  // no tensor lies in two
  int gpu_ = -1;               // where they are; -1: in host memory
  std::size_t refused_ = 0;
  Event taken_;
};

// A checkpoint as it lies on the device.
struct PlacedCheckpoint {
  TrainingState state = {};
  PlacedTensors model = {};
  PlacedTensors optimiser = {};
};

// What CheckpointSaver does, without LibTorch: see there.
class BackgroundSave {
 public:
  // `model` and `untrained` are written to `model_file`.
  BackgroundSave(CheckpointStore& store, Snapshot snapshot, PlacedTensors untrained,
                 std::vector<std::filesystem::path> fixed, std::string model_file = files::kModel);

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
