// SPDX-License-Identifier: Apache-2.0
#include "run/snapshot.h"

#include <limits>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/human.h"
#include "base/log.h"

namespace myxtts {
namespace {

constexpr std::size_t kAlignment = 256;  // bytes, as a GPU's own allocations

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

// Gives each tensor its place, in order: `place` hears the number of the piece and the offset.
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

}  // namespace myxtts
