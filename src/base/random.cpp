// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::uint32_t low(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

constexpr std::uint32_t high(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

// FNV-1a, then a finish that spreads every letter over all bits: short names differ in few.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

double unit_interval(std::uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

}  // namespace

std::array<std::uint32_t, 4> detail::philox(std::array<std::uint32_t, 4> counter,
                                            std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1],
               low(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : seed_(seed), stream_(hash_of(name) >> 8) {}

std::array<std::uint64_t, 2> RandomStream::words(std::uint64_t index, std::uint64_t attempt) const {
  const std::uint64_t stream = stream_ | attempt << 56;
  const auto block = detail::philox({low(index), high(index), low(stream), high(stream)},
                                    {low(seed_), high(seed_)});
  return {block[0] | std::uint64_t{block[1]} << 32, block[2] | std::uint64_t{block[3]} << 32};
}

std::uint64_t RandomStream::bits(std::uint64_t index) const {
  return words(index)[0];
}

double RandomStream::uniform(std::uint64_t index) const {
  return unit_interval(bits(index));
}

double RandomStream::normal(std::uint64_t index) const {
  const auto [first, second] = words(index);
  const double radius = std::sqrt(-2 * std::log(1 - unit_interval(first)));  // 1 - u is never 0
  return radius * std::cos(2 * std::numbers::pi * unit_interval(second));
}

std::int64_t RandomStream::integer(std::uint64_t index, std::int64_t lowest,
                                   std::int64_t highest) const {
  MYXTTS_CHECK(lowest <= highest, "no integer lies in [{}, {}]", lowest, highest);
  const auto offset = static_cast<std::uint64_t>(lowest);
  const std::uint64_t count = static_cast<std::uint64_t>(highest) - offset + 1;
  if (count == 0) return static_cast<std::int64_t>(bits(index));  // all 64 bits
  // The first 2^64 mod count words would make the small results likelier: they are drawn again.
  const std::uint64_t excess = (0 - count) % count;
  for (std::uint64_t attempt = 0; attempt < 256; ++attempt) {
    for (const std::uint64_t word : words(index, attempt)) {
      if (word >= excess) return static_cast<std::int64_t>(offset + word % count);
    }
  }
  MYXTTS_CHECK(false, "512 words in a row were rejected, which chance cannot do");
  return lowest;
}

std::vector<std::size_t> RandomStream::permutation(std::size_t count) const {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto j = static_cast<std::size_t>(integer(i, 0, static_cast<std::int64_t>(i)));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

}  // namespace myxtts
