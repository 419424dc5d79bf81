// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace myxtts {

// How busy a GPU is at this moment.
struct GpuUse {
  int percent = 0;  // of the time in which it did anything, as NVML measures it
  std::int64_t used_bytes = 0;
  std::int64_t total_bytes = 0;
  double watts = 0;        // 0: the driver does not tell
  double watts_limit = 0;  // the same
};

// Asks NVIDIA's management library again and again about one GPU. An answer takes well under a
// millisecond and no work of the GPU waits for it. One thread at a time.
class GpuMeter {
 public:
  // `library_name` as SystemProbe takes it.
  explicit GpuMeter(const std::string& uuid, const std::string& library_name = {});
  ~GpuMeter();

  // Nothing where the driver does not tell.
  std::optional<GpuUse> read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
