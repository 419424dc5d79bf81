// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "model/tensor_spec.h"

namespace myxtts {

// The tensors of a network by their names in the public checkpoint. Networks are built on such a
// map and share its tensors: an optimiser that writes into them in place trains the network.
using NamedTensors = std::map<std::string, at::Tensor, std::less<>>;

// The tensors whose names begin with a prefix, on a device: themselves where they are there
// already.
NamedTensors on_device(const NamedTensors& tensors, c10::Device device,
                       std::string_view prefix = {});

// The numbers of a contiguous fp32 tensor in host memory.
std::span<float> values_of(at::Tensor& tensor);

// The tensors of a map whose names begin with a prefix, by the rest of their names. Networks take
// their weights from one while they are built; the map need only live until then.
class TensorScope {
 public:
  // `prefix` is empty or ends in a dot.
  explicit TensorScope(const NamedTensors& tensors, std::string prefix = {});

  // The tensor itself, not a copy. Throws InternalError when there is none: what was read from a
  // file has been compared with the specs before a network is built on it.
  const at::Tensor& operator[](std::string_view name) const;

  // The scope of a part: scope.part("attn.0")["norm.weight"].
  TensorScope part(std::string_view name) const;

 private:
  const NamedTensors& tensors_;
  std::string prefix_;
};

// New tensors for a network, filled as its specs say. A tensor's values follow from `seed` and its
// name alone, whatever the device and the other tensors. Init::Constant takes the length of each
// first-dimension slice of its source (the gain of a weight-normed layer); one without a source is
// left out, for the network's own code to make.
NamedTensors initialise(const TensorSpecs& specs, std::uint64_t seed,
                        c10::Device device = c10::kCPU);

// Whether tensors of these names are as initialise() made them, whatever its seed: what begins with
// zeros, ones, copies or gains still is that, and what is drawn from an interval lies in it. The
// first step of any training ends that. Throws InternalError where a tensor is missing.
bool is_as_initialised(const TensorSpecs& specs, const NamedTensors& tensors);

}  // namespace myxtts
