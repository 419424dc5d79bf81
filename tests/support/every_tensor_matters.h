// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/named_tensors.h"

namespace myxtts::test {

// The names, in order, of the tensors each of whose values can be changed by up to 1 %, one this
// way and another that way, without an effect on `outputs`.
std::vector<std::string> tensors_without_effect(
    const NamedTensors& tensors,
    const std::function<at::Tensor(const NamedTensors& tensors)>& outputs);

}  // namespace myxtts::test
