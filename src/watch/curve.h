// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace myxtts {

// Consecutive lines of metrics of one curve, put together. One line is such a bucket, too.
struct CurveBucket {
  std::int64_t first = 0;  // steps
  std::int64_t last = 0;
  std::int64_t lines = 0;
  std::int64_t finite = 0;  // of them, whose value is a number; the fields below are of these
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;

  // NaN: a value that is not finite.
  static CurveBucket of_line(std::int64_t step, double value);
  void add(const CurveBucket& next);  // which comes behind this one
};

// Of the values that are numbers; NaN where none is.
double mean_of(const CurveBucket& bucket);

// At most `most` buckets in place of these, none of them cut. The lowest and the highest value
// stay.
std::vector<CurveBucket> downsampled(std::span<const CurveBucket> buckets, std::size_t most);

// All values of one number of a run, in memory that does not grow with the run: buckets become
// twice as long each time there are too many of them. One thread at a time.
class Curve {
 public:
  static constexpr std::size_t kMost = 2048;  // buckets

  // Steps do not go back.
  void add(std::int64_t step, double value);

  std::span<const CurveBucket> buckets() const { return buckets_; }
  // Those that touch the steps from `from` to `to`.
  std::span<const CurveBucket> between(std::int64_t from, std::int64_t to) const;
  const CurveBucket& all() const { return all_; }            // as one bucket
  std::int64_t lowest_step() const { return lowest_step_; }  // where all().min is; 0: nowhere
  std::optional<double> last() const { return last_; }  // nothing: not finite, or there is none

 private:
  std::vector<CurveBucket> buckets_;
  std::int64_t lines_a_bucket_ = 1;
  CurveBucket all_;
  std::int64_t lowest_step_ = 0;
  std::optional<double> last_;
};

}  // namespace myxtts
