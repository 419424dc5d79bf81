// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace myxtts {

// Ranks of this program on this host.
struct RankLaunch {
  int ranks = 1;
  std::vector<std::string> arguments = {};  // that each gets, the command first
  std::optional<int> port = {};             // where rank 0 listens; nothing: a free one
};

// Starts them, stays until the last has ended, and tells the first cause where one has failed.
// Gives the exit code. Throws DeviceError.
int launch_ranks(const RankLaunch& launch);

// What this process was started with, without the program's name.
std::vector<std::string> own_arguments();

}  // namespace myxtts
