// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/role_device.h"
#include "diagnose/report/report.h"

namespace myxtts {

// Sends random bytes from the data device to the model device and back the way a run's batches
// travel (pipeline/batch_transfer.h) and compares each bit; and looks which way the copies took,
// and how fast they were by the device's own clock.
// The largest send has that many bytes.
Checks check_transfer(RoleDevice& data, RoleDevice& model, BatchPath path, std::size_t largest);

// Copies by where they went from and to: LibTorch's numbers of GPUs, -1 is host memory.
using CopyWays = std::set<std::pair<int, int>>;

// That the copies between two devices, in both directions, went the way of the plan.
Check check_path(BatchPath path, const CopyWays& taken, int data_gpu, int model_gpu);

}  // namespace myxtts
