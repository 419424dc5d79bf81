// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

namespace myxtts::test {

using GoldenTensors = std::map<std::string, at::Tensor, std::less<>>;

// The tensors of tests/golden/`name`, a safetensors file that one of the scripts beside it wrote.
// A reader of its own, so that a fault in src/weights cannot hide in every golden test.
GoldenTensors read_golden(std::string_view name);

// Largest |a - b|; infinite when the shapes differ or a value is not a number.
double max_abs_difference(const at::Tensor& a, const at::Tensor& b);

// ‖a - expected‖ / ‖expected‖ in double; infinite when the shapes differ or a value is not a
// number.
double relative_error(const at::Tensor& a, const at::Tensor& expected);

}  // namespace myxtts::test
