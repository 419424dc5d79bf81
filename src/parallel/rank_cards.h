// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/role_device.h"
#include "parallel/rank_team.h"

namespace myxtts {

// A name for the device of a rank that no other card of any host has; empty for the CPU.
std::string card_of(const RoleDevice& device);

// Every rank calls it with its own card. Throws DeviceError, the same on all of them, where two
// have one card, or some have one and others the CPU.
void require_own_cards(RankTeam& team, const std::string& card);

}  // namespace myxtts
