// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace myxtts {

// The first host of a list as SLURM writes it: "gpu03" of "gpu[03-07,12],cpu1".
std::string first_host(std::string_view hosts);

// How many tasks the node of this number (from 0) has by a list such as "4(x2),1", which is 4, 4
// and 1; nothing where the list does not say.
std::optional<int> tasks_on_node(std::string_view list, int node);

}  // namespace myxtts
