// SPDX-License-Identifier: Apache-2.0
#include "watch/curve.h"

#include <algorithm>
#include <cmath>

namespace myxtts {

CurveBucket CurveBucket::of_line(std::int64_t step, double value) {
  CurveBucket bucket{.first = step, .last = step, .lines = 1};
  if (!std::isfinite(value)) return bucket;
  bucket.finite = 1;
  bucket.min = bucket.max = bucket.sum = value;
  return bucket;
}

void CurveBucket::add(const CurveBucket& next) {
  if (lines == 0) first = next.first;
  last = next.last;
  lines += next.lines;
  finite += next.finite;
  min = std::min(min, next.min);
  max = std::max(max, next.max);
  sum += next.sum;
}

double mean_of(const CurveBucket& bucket) {
  return bucket.finite > 0 ? bucket.sum / static_cast<double>(bucket.finite)
                           : std::numeric_limits<double>::quiet_NaN();
}

std::vector<CurveBucket> downsampled(std::span<const CurveBucket> buckets, std::size_t most) {
  const std::size_t each = (buckets.size() + most - 1) / most;
  std::vector<CurveBucket> made;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (i % each == 0) {
      made.push_back(buckets[i]);
    } else {
      made.back().add(buckets[i]);
    }
  }
  return made;
}

void Curve::add(std::int64_t step, double value) {
  const CurveBucket line = CurveBucket::of_line(step, value);
  if (line.min < all_.min) lowest_step_ = step;
  all_.add(line);
  last_ = line.finite > 0 ? std::optional(value) : std::nullopt;
  if (!buckets_.empty() && buckets_.back().lines < lines_a_bucket_) {
    buckets_.back().add(line);
    return;
  }
  if (buckets_.size() == kMost) {
    buckets_ = downsampled(buckets_, kMost / 2);
    lines_a_bucket_ *= 2;
  }
  buckets_.push_back(line);
}

std::span<const CurveBucket> Curve::between(std::int64_t from, std::int64_t to) const {
  const auto begin = std::ranges::lower_bound(buckets_, from, {}, &CurveBucket::last);
  const auto end = std::ranges::upper_bound(begin, buckets_.end(), to, {}, &CurveBucket::first);
  return {begin, end};
}

}  // namespace myxtts
