// SPDX-License-Identifier: Apache-2.0
#include "run/checkpoint_saver.h"

#include <utility>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "base/log.h"
#include "base/message_text.h"
#include "run/background_save.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

// Bytes that are left to training, whose batches differ in size, before a copy may lie beside it.
constexpr std::int64_t kLeftToTraining = 512 << 20;

PlacedTensors placed(const NamedTensors& tensors) {
  PlacedTensors result;
  for (const auto& [name, tensor] : tensors) {
    const int gpu = tensor.is_cuda() ? static_cast<int>(tensor.get_device()) : -1;
    result[name] = {.kind = kind_of(tensor),
                    .place = {.data = const_cast<void*>(tensor.const_data_ptr()), .gpu = gpu},
                    .bytes = tensor.nbytes()};
  }
  return result;
}

NamedTensors dense(const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.detach().contiguous();
  return result;
}

bool has_room(const RoleDevice& device, std::int64_t bytes) {
  const MemoryReading memory = device.memory().read();
  const std::int64_t wanted = bytes + kLeftToTraining;
  if (memory.cap && memory.reserved + wanted > *memory.cap) return false;
  const auto index = static_cast<c10::DeviceIndex>(device.gpu());
  const auto [free, total] = c10::getDeviceAllocator(c10::kCUDA)->getMemoryInfo(index);
  return wanted <= static_cast<std::int64_t>(free);
}

// One piece, since the system takes long over hundreds of them.
std::shared_ptr<std::byte> take_on_device(RoleDevice& device, std::size_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  if (device.gpu() < 0 || !has_room(device, wanted)) return nullptr;
  const auto scope = device.enter(device.stream());
  const c10::Device place(c10::kCUDA, static_cast<c10::DeviceIndex>(device.gpu()));
  try {
    const auto memory = at::empty({wanted}, at::TensorOptions(place).dtype(at::kByte));
    log_debug("run", "checkpoints are copied into {} of {}", human_size(bytes), device.name());
    return {static_cast<std::byte*>(memory.data_ptr()), [memory](std::byte*) {}};
  } catch (const c10::OutOfMemoryError&) {
    return nullptr;  // somebody else's process took it meanwhile
  }
}

}  // namespace

CheckpointSaver::CheckpointSaver(CheckpointStore& store, RoleDevice& device,
                                 const NamedTensors& untrained,
                                 std::vector<std::filesystem::path> fixed, const std::string& file)
    : device_(device), untrained_(dense(untrained)) {
  const auto take = [&device](std::size_t bytes) { return take_on_device(device, bytes); };
  background_ = std::make_unique<BackgroundSave>(store, Snapshot(device, take), placed(untrained_),
                                                 std::move(fixed), file);
}

CheckpointSaver::~CheckpointSaver() = default;

void CheckpointSaver::prepare(const CheckpointContents& contents) {
  if (device_.gpu() < 0) return;
  std::size_t bytes = 0;
  for (const auto* tensors : {&contents.weights, &contents.optimiser}) {
    for (const auto& [name, tensor] : *tensors) bytes += tensor.nbytes();
  }
  if (has_room(device_, static_cast<std::int64_t>(bytes))) return;
  log_debug("run", "checkpoints are copied into {} of host memory", human_size(bytes));
  background_->prepare_in_host_memory(
      {.model = placed(contents.weights), .optimiser = placed(contents.optimiser)});
}

void CheckpointSaver::save(const CheckpointContents& contents) {
  const auto scope = device_.enter(device_.stream());
  // Those that had to be made dense are needed until their copies are queued: their memory is used
  // again behind those on the same stream.
  const NamedTensors weights = dense(contents.weights);
  const NamedTensors optimiser = dense(contents.optimiser);
  background_->save(
      {.state = contents.state, .model = placed(weights), .optimiser = placed(optimiser)});
}

bool CheckpointSaver::finish() {
  return background_->finish();
}

}  // namespace myxtts
