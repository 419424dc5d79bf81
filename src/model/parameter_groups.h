// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/tensor_spec.h"

namespace myxtts {

// Which parameters of the GPT weight decay pulls on. Both lists are in the byte order of the names,
// as the Python peer numbers them in its optimiser state.
struct ParameterGroups {
  std::vector<std::string> decayed;
  std::vector<std::string> kept;
};

// The peer's rule: no decay for biases, for layer and group norms and for embeddings. The
// perceiver's latents and the gain of its norm do decay.
bool decays(std::string_view name);

ParameterGroups parameter_groups(const TensorSpecs& specs);

}  // namespace myxtts
