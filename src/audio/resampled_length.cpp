// SPDX-License-Identifier: Apache-2.0
#include "audio/resampled_length.h"

#include <cmath>
#include <numeric>

#include "base/error.h"

namespace myxtts {

std::int64_t resampled_length(std::int64_t samples, std::int64_t from_rate, std::int64_t to_rate) {
  MYXTTS_CHECK(from_rate > 0 && to_rate > 0, "cannot resample from {} Hz to {} Hz", from_rate,
               to_rate);
  if (from_rate == to_rate) return samples;
  const auto divisor = std::gcd(from_rate, to_rate);
  // torchaudio takes the ceiling of an fp32 value, which beyond 65,536 samples can be one less.
  const double exact =
      static_cast<double>(to_rate / divisor * samples) / static_cast<double>(from_rate / divisor);
  return static_cast<std::int64_t>(std::ceil(static_cast<float>(exact)));
}

}  // namespace myxtts
