// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts::test {

// Values in [-1, 1) that depend on `name` alone, the same as `uniform` of tests/golden/nets.py
// gives bit for bit, so that golden files hold outputs and no weights.
at::Tensor formula_values(std::string_view name, const std::vector<std::int64_t>& shape);

// A whole network's tensors by formula, as `fill` of tests/golden/nets.py makes them: every tensor
// matters, no norm is the identity. `seed` goes before each name. Tensors with Init::Constant that
// have no source (windows, filter banks) are left out: they are not weights.
NamedTensors formula_weights(const TensorSpecs& specs, const std::string& seed);

}  // namespace myxtts::test
