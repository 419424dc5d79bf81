// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/device_plan.h"
#include "device/machine.h"

namespace myxtts {

// The GPUs a person may name, in the order their numbers count: all of them, or those of
// CUDA_VISIBLE_DEVICES where that is set (numbers, UUIDs or beginnings of UUIDs; -1 ends the list).
// Throws DeviceError for an entry that is not there, stands twice or names part of a GPU.
std::vector<GpuInfo> visible_gpus(const GpuInventory& inventory);

// Lets CUDA see the planned GPUs alone, by UUID and in the order of their logical numbers; nothing
// at all for a plan on the CPU. Must happen before the CUDA plugin is opened, which is checked, and
// while no other thread reads the environment.
void set_visible_devices(const DevicePlan& plan);
// The same for plans of several ranks, whose logical numbers count through the GPUs of all.
void set_visible_devices(std::span<const DevicePlan> plans);

// Sets the visible devices and opens the CUDA plugin, where the plan has a GPU; gives the plan with
// what CUDA says of them. No context is made. Throws DeviceError.
DevicePlan open_devices(DevicePlan plan);
std::vector<DevicePlan> open_devices(std::vector<DevicePlan> plans);

}  // namespace myxtts
