// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace myxtts {

// How a tensor is filled when a network is made from nothing.
enum class Init {
  Zeros,
  Ones,
  Normal,         // mean 0, standard deviation `scale`
  Uniform,        // in ±scale
  Waves,          // of rows, sine and cosine of falling frequency; `scale` times as fast
  KaimingFanOut,  // normal, standard deviation sqrt(2 / fan_out)
  CopyOf,         // the same values as the tensor named `source`
  Constant,       // computed by the network's own code (windows, filter banks)
};

// What a tensor is to the optimiser and to the files.
enum class TensorRole { Parameter, Buffer, Counter };  // Counter: an int64 scalar or vector

// One tensor of a network as the public checkpoint names it.
struct TensorSpec {
  std::string name;                 // e.g. "gpt.h.0.ln_1.weight", relative to its network
  std::vector<std::int64_t> shape;  // empty: a scalar
  Init init = Init::Zeros;
  double scale = 0.0;
  TensorRole role = TensorRole::Parameter;
  std::string explained_by = {};  // the config field that sets the shape, for messages
  std::string source = {};        // for CopyOf
};

using TensorSpecs = std::vector<TensorSpec>;

}  // namespace myxtts
