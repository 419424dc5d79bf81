// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/pipeline_reading.h"
#include "run/metrics_log.h"
#include "session/run_devices.h"

namespace myxtts {

// What each line of metrics tells beside the losses: how ready batches were so far, how busy each
// stage was, how full each queue is, and the memory of both roles. Waits for nothing.
Metrics gauges(const PipelineReading& reading, const RunDevices& devices);

}  // namespace myxtts
