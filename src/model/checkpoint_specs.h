// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/model.h"
#include "model/tensor_spec.h"

namespace myxtts {

// Every tensor of model.safetensors, which has the names of the public model.pth: the GPT, the
// decoder, the speaker encoder and the mel statistics. dvae.safetensors is dvae_specs() alone.
TensorSpecs checkpoint_specs(const ModelConfig& config);

// A tensor that a file was found to hold.
struct FoundTensor {
  std::vector<std::int64_t> shape;
  bool floating = true;
};
using FoundTensors = std::map<std::string, FoundTensor, std::less<>>;

// Compares by name, shape and kind of number. Counters, which older versions of PyTorch did not
// write, may be missing. Throws DataError if anything is wrong, with every tensor at fault, one to
// a line, and what sets its shape as `field_name` puts it. `file` opens the message.
void require_specs(const TensorSpecs& specs, const FoundTensors& found, const std::string& file,
                   const std::function<std::string(const std::string& field)>& field_name);

}  // namespace myxtts
