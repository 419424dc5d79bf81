// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// Where a parameter is in the flat arrays.
struct ParameterPlace {
  std::string name;  // in the public checkpoint
  std::vector<std::int64_t> shape = {};
  std::int64_t first = 0;  // a multiple of kAdamWAlignment
  std::int64_t count = 0;
  bool trained = true;
};

// Parameters one after another: those that decay, those that do not, and those that are frozen.
struct ParameterLayout {
  std::vector<ParameterPlace> places = {};
  std::int64_t decayed = 0;  // numbers, gaps between parameters included
  std::int64_t trained = 0;  // those that decay included
  std::int64_t total = 0;
};

// Counters are left out: no network computes with them.
ParameterLayout lay_out(const TensorSpecs& specs, const std::string& prefix,
                        const std::set<std::string, std::less<>>& frozen);

// The names, with the prefix, of parameters that a pattern of --freeze fits. Throws ConfigError as
// frozen_names() does.
std::set<std::string, std::less<>> frozen_parameters(const TensorSpecs& specs,
                                                     const std::string& prefix,
                                                     std::span<const std::string> patterns);

// A network's weights in flat arrays, so that one kernel updates them all: fp32, and a copy in the
// arithmetic of the step where that is another. A gradient has a fixed place too, so graphs can
// write there; without such places, each backward pass makes its own.
class Parameters {
 public:
  Parameters(ParameterLayout layout, const NamedTensors& weights, c10::Device device,
             at::ScalarType dtype, bool fixed_gradients);

  const ParameterLayout& layout() const { return layout_; }

  // What the network is built on; in the arithmetic of the step.
  const NamedTensors& tensors() const { return tensors_; }

  const at::Tensor& weights() const { return weights_; }      // fp32 [total]
  const at::Tensor& copy() const { return copy_; }            // [total], or undefined
  const at::Tensor& gradients() const { return gradients_; }  // [trained], or undefined

  // After the fp32 weights were changed otherwise than by the optimiser.
  void refresh_copy();

  // The fp32 weights by name, sharing memory.
  NamedTensors named_weights() const;

  // Throws DataError when a tensor is missing or has another shape.
  void load(const NamedTensors& weights);

 private:
  ParameterLayout layout_;
  at::Tensor weights_;
  at::Tensor copy_;
  at::Tensor gradients_;
  NamedTensors tensors_;
};

// A parameter's part of a flat array, in its shape.
at::Tensor part_of(const at::Tensor& flat, const ParameterPlace& place);

// The tensor of that name and shape. Throws DataError when there is none.
const at::Tensor& find_tensor(const NamedTensors& tensors, const std::string& name,
                              at::IntArrayRef shape);

}  // namespace myxtts
