// SPDX-License-Identifier: Apache-2.0
#include "session/gauges.h"

namespace myxtts {
namespace {

double seconds_in(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void add_memory(Metrics& metrics, const std::string& role, const RoleDevice& device) {
  const MemoryReading memory = device.memory().read();
  metrics.emplace_back("memory." + role, static_cast<double>(memory.reserved));
  metrics.emplace_back("memory." + role + "_peak", static_cast<double>(memory.peak));
}

}  // namespace

Metrics gauges(const PipelineReading& reading, const RunDevices& devices) {
  Metrics metrics{{"readiness", reading.readiness.share()},
                  {"waited_seconds", reading.readiness.waited_seconds}};
  for (const StageReading& stage : reading.stages) {
    metrics.emplace_back("pipeline." + stage.name + ".busy_seconds", seconds_in(stage.load.busy));
  }
  for (const QueueReading& queue : reading.queues) {
    metrics.emplace_back("pipeline." + queue.name + ".depth",
                         static_cast<double>(queue.depth.current));
  }
  add_memory(metrics, "data", *devices.data);
  add_memory(metrics, "model", *devices.model);
  return metrics;
}

}  // namespace myxtts
