// SPDX-License-Identifier: Apache-2.0
#include "model/parameter_count.h"

#include <functional>
#include <numeric>

namespace myxtts {

std::int64_t parameter_count(const TensorSpecs& specs) {
  std::int64_t count = 0;
  for (const auto& spec : specs) {
    if (spec.role != TensorRole::Parameter) continue;
    count +=
        std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  return count;
}

}  // namespace myxtts
