// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace myxtts {

// The tensors of a network by their names in the public checkpoint. Networks are built on such a
// map and share its tensors: an optimiser that writes into them in place trains the network.
using NamedTensors = std::map<std::string, at::Tensor, std::less<>>;

}  // namespace myxtts
