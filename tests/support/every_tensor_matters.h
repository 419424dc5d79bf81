// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/named_tensors.h"

namespace myxtts::test {

// The names, in order, of the tensors that can be changed by 1 % without any effect on `outputs`.
std::vector<std::string> tensors_without_effect(
    const NamedTensors& tensors,
    const std::function<at::Tensor(const NamedTensors& tensors)>& outputs);

}  // namespace myxtts::test
