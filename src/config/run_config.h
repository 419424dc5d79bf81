// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/data.h"
#include "config/devices.h"
#include "config/parallel.h"
#include "config/run.h"
#include "config/train.h"

namespace myxtts {

// Every setting of a training run, one struct for each section of the YAML file.
struct RunConfig {
  DataConfig data = {};
  DevicesConfig devices = {};
  TrainConfig train = {};
  ParallelConfig parallel = {};
  RunDirectoryConfig run = {};

  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

}  // namespace myxtts
