// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "weights/dtype.h"

namespace myxtts {

// The same numbers as fp32, in `buffer` unless they are fp32 already. The view's elements are
// floating-point numbers of any width.
TensorView as_fp32(const TensorView& view, std::vector<std::byte>& buffer);

}  // namespace myxtts
