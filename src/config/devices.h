// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace myxtts {

enum class DeviceKind { Auto, Cpu, Cuda };

// How the data role and the model role share the machine. Auto measures and takes the fastest.
enum class Mode { Auto, Dual, Single, Split, Cpu };

enum class TransferPath { Auto, Peer, Host };

// One physical GPU used as two: the data role gets `multiprocessors` of it.
struct SplitGpu {
  std::int64_t gpu = 0;
  std::optional<std::int64_t> multiprocessors = {};

  friend bool operator==(const SplitGpu&, const SplitGpu&) = default;
};

// Which devices work and how much of each. Which GPU has which role stands in DataConfig.
struct DevicesConfig {
  DeviceKind device = DeviceKind::Auto;
  std::optional<Mode> mode = {};  // nothing: follows from the other device settings
  std::optional<SplitGpu> split_gpu = {};
  TransferPath transfer_path = TransferPath::Auto;
  bool enable_memory_isolation = false;
  std::optional<std::int64_t> data_gpu_memory = {};   // MB
  std::optional<std::int64_t> model_gpu_memory = {};  // MB
  std::optional<std::int64_t> data_threads = {};      // on the CPU; nothing: by the cores
  std::optional<std::int64_t> model_threads = {};     // on the CPU; nothing: by the cores

  friend bool operator==(const DevicesConfig&, const DevicesConfig&) = default;
};

}  // namespace myxtts
