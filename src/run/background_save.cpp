// SPDX-License-Identifier: Apache-2.0
#include "run/background_save.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

TensorKinds kinds_of(const PlacedTensors& tensors) {
  TensorKinds kinds;
  for (const auto& [name, tensor] : tensors) kinds[name] = tensor.kind;
  return kinds;
}

}  // namespace

BackgroundSave::BackgroundSave(const Places& places, PlacedTensors untrained,
                               std::vector<std::filesystem::path> fixed)
    : store_(places.store),
      device_(places.device),
      model_file_(places.model_file),
      untrained_(std::move(untrained)),
      fixed_(std::move(fixed)),
      snapshot_(places.device, places.device_memory, places.host_piece),
      reader_(places.device) {}

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
    log_warning("run",
                "The checkpoint of step {} was not saved: {} Training goes on; the checkpoints "
                "before stay, and the next save tries again.",
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
