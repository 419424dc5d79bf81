// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// The tensors of a convolution or linear layer: `name`.weight of `shape` [out, in, kernel...] and,
// with a bias, `name`.bias [out]; both uniform in ±1/sqrt(fan in).
void append_layer(TensorSpecs& specs, const std::string& name,
                  const std::vector<std::int64_t>& shape, const std::string& explained_by);
void append_layer_without_bias(TensorSpecs& specs, const std::string& name,
                               const std::vector<std::int64_t>& shape,
                               const std::string& explained_by);

// The same with weight normalisation: `name`.bias, the gain
// `name`.parametrizations.weight.original0 [shape[0], 1, ...] and the direction
// `name`.parametrizations.weight.original1 of `shape`. The bias has `outputs` values: a transposed
// convolution's weight has its inputs first.
void append_weight_normed(TensorSpecs& specs, const std::string& name,
                          const std::vector<std::int64_t>& shape, const std::string& explained_by,
                          std::int64_t outputs);

// The tensors of a batch normalisation over `channels`.
void append_batch_norm(TensorSpecs& specs, const std::string& name, std::int64_t channels,
                       const std::string& explained_by);

// How many numbers an optimiser would train: those of parameters, not of buffers or counters.
std::int64_t parameter_count(const TensorSpecs& specs);

// Whether weight decay pulls on a parameter. As in coqui-tts: no decay for biases, for layer and
// group norms and for embeddings. The perceiver's latents and the gain of its norm do decay.
bool decays(std::string_view name);

}  // namespace myxtts
