// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace myxtts {

// Random numbers without a state: each is a function of (seed, stream name, index) and nothing
// else, so there is nothing to save, and any thread may ask for any number in any order.
//
//   const RandomStream noise(seed, "train/noise");
//   noise.normal(step);
//
// Give each use a name of its own: two draws with the same name and index are the same bits.
// Numbers are those of Philox4x32-10 and equal on every machine (normal() to the last bits of its
// libm).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  // The stream with the number that stream() gave: for kernels, which draw the same numbers and
  // know no names.
  RandomStream(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  std::uint64_t stream() const { return stream_; }

  std::uint64_t bits(std::uint64_t index) const;  // all 64 equally likely
  double uniform(std::uint64_t index) const;      // in [0, 1), a multiple of 2^-53
  double normal(std::uint64_t index) const;       // mean 0, variance 1

  // In [lowest, highest], every value exactly equally likely.
  std::int64_t integer(std::uint64_t index, std::int64_t lowest, std::int64_t highest) const;

  // 0 .. count-1 in random order. Uses the indices below `count`.
  std::vector<std::size_t> permutation(std::size_t count) const;

 private:
  // Two words for each index and attempt (0 to 255; more than one only where a number is rejected).
  std::array<std::uint64_t, 2> words(std::uint64_t index, std::uint64_t attempt = 0) const;

  std::uint64_t seed_;
  std::uint64_t stream_;  // hash of the name; the upper 8 bits are left for the attempt
};

namespace detail {
// Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);
}  // namespace detail

}  // namespace myxtts
