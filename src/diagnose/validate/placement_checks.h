// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "diagnose/report/report.h"

namespace myxtts {

// The cap that is tried where the plan has none.
inline constexpr std::int64_t kTrialCap = std::int64_t{64} << 20;

// That the planned cards, and no others, can be used by this process; on the CPU that none can.
// `variable` is CUDA_VISIBLE_DEVICES, `shown` are the PCI places of the cards that CUDA shows.
Check check_visible(const DevicePlan& plan, const std::string& variable,
                    const std::vector<std::string>& shown, bool cuda_is_open);

// That a role's device is the planned one.
Check check_device(Role role, const RolePlan& plan, const RoleDevice& opened);

// Takes that many bytes of a role's memory and gives them back; false: they were refused.
using TryTake = std::function<bool(std::int64_t bytes)>;

// That one byte over a cap is refused and less is not. `planned`: the plan has that cap; it was
// made up for the trial otherwise.
Check check_cap(Role role, std::int64_t cap, bool planned, const TryTake& try_take);

// That the data role of a split runs on the multiprocessors it was given: `used` are those that a
// probe on its stream ran on.
Check check_split(const DevicePlan& plan, const std::vector<int>& used);

// TryTake of a real device: makes a tensor as work of the role.
bool can_take(RoleDevice& device, std::int64_t bytes);

}  // namespace myxtts
