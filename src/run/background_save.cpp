// SPDX-License-Identifier: Apache-2.0
#include "run/background_save.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {

// Pinning takes long, so the blocks are made once.
DeviceReader::DeviceReader(RoleDevice& device, std::size_t block_bytes)
    : device_(device), block_bytes_(block_bytes), stream_(device.make_stream()) {
  if (device_.gpu() < 0) return;
  blocks_.reserve(kBlocks);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks_.push_back({device_.host_memory(block_bytes_), device_.make_event()});
    free_.push_back(&blocks_.back());
  }
}

void DeviceReader::read(const PlacedTensor& tensor, const Sink& sink) {
  if (tensor.place.gpu < 0 || tensor.bytes == 0) {
    under_way_.push_back({{static_cast<const std::byte*>(tensor.place.data), tensor.bytes}});
    return;
  }
  for (std::size_t begin = 0; begin < tensor.bytes; begin += block_bytes_) {
    copy(tensor, begin, std::min(block_bytes_, tensor.bytes - begin), sink);
  }
}

void DeviceReader::copy(const PlacedTensor& tensor, std::size_t begin, std::size_t count,
                        const Sink& sink) {
  while (free_.empty()) hand_over_oldest(sink);
  Block* block = free_.back();
  free_.pop_back();
  const DeviceBytes from{static_cast<std::byte*>(tensor.place.data) + begin, tensor.place.gpu};
  under_way_.push_back({{block->memory.get(), count}, block});
  device_.copy(stream_, {block->memory.get(), -1}, from, count);
  block->copied.record(stream_);
}

void DeviceReader::hand_over_oldest(const Sink& sink) {
  const Piece piece = under_way_.front();
  under_way_.pop_front();
  if (piece.block != nullptr) {
    piece.block->copied.wait();
    free_.push_back(piece.block);  // written before the next copy into it can be asked for
  }
  sink(piece.bytes);
}

void DeviceReader::finish(const Sink& sink) {
  while (!under_way_.empty()) hand_over_oldest(sink);
}

void DeviceReader::abandon() {
  finish([](std::span<const std::byte>) {});
}

namespace {

constexpr std::size_t kAlignment = 256;  // bytes, as a GPU's own allocations

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

// Gives each tensor its place, in order: `place` is given the number of the piece and the offset.
// Sizes of the pieces come back.
template <typename Place>
std::vector<std::size_t> lay_out(std::span<PlacedTensors* const> groups, std::size_t most,
                                 const Place& place) {
  std::vector<std::size_t> sizes;
  for (auto* tensors : groups) {
    for (auto& [name, tensor] : *tensors) {
      const std::size_t bytes = aligned(tensor.bytes);
      if (sizes.empty() || sizes.back() + bytes > most) sizes.push_back(0);
      place(tensor, sizes.size() - 1, sizes.back());
      sizes.back() += bytes;
    }
  }
  return sizes;
}

std::vector<std::size_t> piece_sizes(std::span<PlacedTensors* const> groups, std::size_t most) {
  return lay_out(groups, most, [](const PlacedTensor&, std::size_t, std::size_t) {});
}

}  // namespace

Snapshot::Snapshot(RoleDevice& device, TakeMemory take_on_device, std::size_t host_piece)
    : device_(device),
      take_on_device_(std::move(take_on_device)),
      host_piece_(host_piece),
      taken_(device.make_event()) {}

void Snapshot::prepare_in_host_memory(std::span<PlacedTensors* const> groups) {
  const Sizes sizes = piece_sizes(groups, host_piece_);
  if (pieces_.empty() && !take_in_host_memory(sizes)) pieces_.clear();  // take() says it
}

bool Snapshot::take(std::span<PlacedTensors* const> groups) {
  const bool copies = has_room(groups);
  if (copies) {
    lay_out(groups, gpu_ < 0 ? host_piece_ : kWhole,
            [this](PlacedTensor& tensor, std::size_t piece, std::size_t offset) {
              const DeviceBytes copy{pieces_[piece].memory.get() + offset, gpu_};
              device_.copy(device_.stream(), copy, tensor.place, tensor.bytes);
              tensor.place = copy;
            });
  }
  taken_.record(device_.stream());
  return copies;
}

bool Snapshot::has_room(std::span<PlacedTensors* const> groups) {
  const Sizes whole = piece_sizes(groups, kWhole);
  const Sizes in_pieces = piece_sizes(groups, host_piece_);
  if (holds(gpu_ < 0 ? in_pieces : whole)) return true;
  const std::size_t bytes = whole.empty() ? 0 : whole.front();
  if (refused_ > 0 && bytes >= refused_) return false;
  pieces_.clear();
  if (auto memory = take_on_device_ ? take_on_device_(bytes) : nullptr) {
    gpu_ = device_.gpu();
    pieces_.push_back({std::move(memory), bytes});
    return true;
  }
  gpu_ = -1;
  if (take_in_host_memory(in_pieces)) return true;
  pieces_.clear();
  refused_ = bytes;
  log_warning("run",
              "There is no room for a copy of {} on {} or in host memory: training waits while a "
              "checkpoint is written.",
              human_size(bytes), device_.name());
  return false;
}

bool Snapshot::holds(const Sizes& sizes) const {
  if (sizes.size() > pieces_.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > pieces_[i].bytes) return false;
  }
  return true;
}

bool Snapshot::take_in_host_memory(const Sizes& sizes) {
  try {
    for (const std::size_t bytes : sizes) pieces_.push_back({device_.host_memory(bytes), bytes});
    return true;
  } catch (const DeviceError& error) {
    log_debug("run", "{}", error.what());
  } catch (const std::bad_alloc&) {
    log_debug("run", "host memory has no room for a copy of a checkpoint");
  }
  return false;
}

namespace {

TensorKinds kinds_of(const PlacedTensors& tensors) {
  TensorKinds kinds;
  for (const auto& [name, tensor] : tensors) kinds[name] = tensor.kind;
  return kinds;
}

}  // namespace

BackgroundSave::BackgroundSave(CheckpointStore& store, Snapshot snapshot, PlacedTensors untrained,
                               std::vector<std::filesystem::path> fixed, std::string model_file)
    : store_(store),
      device_(snapshot.device()),
      model_file_(std::move(model_file)),
      untrained_(std::move(untrained)),
      fixed_(std::move(fixed)),
      snapshot_(std::move(snapshot)),
      reader_(device_) {}

void BackgroundSave::prepare_in_host_memory(PlacedCheckpoint checkpoint) {
  finish();
  thread_.start("save memory", [this, job = std::move(checkpoint)]() mutable {
    snapshot_.prepare_in_host_memory(std::array{&job.model, &job.optimiser});
  });
}

void BackgroundSave::save(PlacedCheckpoint checkpoint) {
  finish();  // one copy of the tensors is enough
  const bool copied = snapshot_.take(std::array{&checkpoint.model, &checkpoint.optimiser});
  checkpoint.model.insert(untrained_.begin(), untrained_.end());
  thread_.start("checkpoint", [this, job = std::move(checkpoint)] { write(job); });
  if (!copied) finish();
}

bool BackgroundSave::finish() {
  thread_.join();
  return succeeded_;
}

void BackgroundSave::write(const PlacedCheckpoint& checkpoint) {
  // On the CPU nothing here computes, and a scope would set the threads of others.
  const auto scope = device_.gpu() < 0 ? nullptr : device_.enter(device_.stream());
  snapshot_.taken().wait();  // of this thread alone: a copy in host memory is read without a stream
  succeeded_ = false;
  const auto say = [&](const std::string& why) {
    reader_.abandon();
    log_warning(
        "run",
        "The checkpoint of step {} was not saved: {} Those before it stay, and the next save "
        "tries again.",
        checkpoint.state.step, why);
  };
  try {
    write_files(checkpoint);
    succeeded_ = true;
  } catch (const DataError& error) {
    say(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    say(fmt::format("{}.", error.what()));
  }
}

void BackgroundSave::write_files(const PlacedCheckpoint& checkpoint) {
  auto writer = store_.write(checkpoint.state.step, checkpoint.state.validation_loss);
  for (const auto& file : fixed_) writer.link(file, file.filename().string());
  write_tensors(writer / model_file_, checkpoint.model);
  write_tensors(writer / files::kOptimiser, checkpoint.optimiser);
  write_training_state(writer / files::kState, checkpoint.state);
  writer.commit();
}

void BackgroundSave::write_tensors(const std::filesystem::path& file,
                                   const PlacedTensors& tensors) {
  SafetensorsWriter writer(file, kinds_of(tensors), {});
  const auto sink = [&writer](std::span<const std::byte> bytes) { writer.write(bytes); };
  for (const std::string& name : writer.order()) reader_.read(tensors.find(name)->second, sink);
  reader_.finish(sink);
  writer.commit();
}

}  // namespace myxtts
