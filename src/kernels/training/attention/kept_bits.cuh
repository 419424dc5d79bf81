// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/training/attention/ptx.cuh"
#include "kernels/training/attention/segment.cuh"
#include "kernels/training/dropout.cuh"

// Dropout's mask of attention, a word for each lane and each block of a group of queries by a group
// of keys. Of a lane's sums as Note [Fragments] has them, the bit of number 2 r + c of square
// [i][j] is at 16 c + 8 i + 4 r + j.
namespace myxtts::device {

// Note [Kept bits]
// A segment of G groups has blocks (u, v) of group u of queries by group v <= u of keys, a
// triangle. Folded, rows u and G - 1 - u stand on one line of G + 1 blocks, so a segment needs a
// line for each two groups. A segment's first line is start / (2 groups) + the number of segments
// before it, which leaves room enough for each without anybody summing lengths.
__host__ __device__ constexpr std::int64_t kept_line(std::int64_t start, std::int64_t segment) {
  return start / (2 * kGroup) + segment;
}
__host__ __device__ constexpr std::int64_t kept_line_blocks(std::int64_t longest) {
  return (longest + kGroup - 1) / kGroup + 1;
}
constexpr std::int64_t kept_words(const RowAttention& call) {
  return kept_line(call.rows, call.segments) * call.heads * kept_line_blocks(call.longest) * kGroup;
}

constexpr std::uint32_t kAllKept = 0xffffffffU;
constexpr int kRandomBits = 12;          // of each number
constexpr int kDraws = kRandomBits / 4;  // of four words

// What is dropped, as near as kRandomBits have it.
inline double kept_dropout(const RowAttention& call) {
  constexpr double kSteps = 1 << kRandomBits;
  if (call.kept == nullptr) return 0;
  return std::min(std::round(call.dropout * kSteps), kSteps - 1) / kSteps;
}

// A mask of 16 bits each over the pair of numbers [i][j], row r.
__device__ inline std::uint32_t kept_pair(std::uint32_t kept, int i, int j, int r) {
  return choose_bytes(kept << (7 - 4 * r - j), 0, i == 0 ? 0xaa88U : 0xbb99U);
}

// A mask of 32 bits over number [i][j][e].
__device__ inline std::uint32_t kept_number(std::uint32_t kept, int i, int j, int e) {
  const auto byte = static_cast<std::uint32_t>(8 | (e % 2 * 2 + i));
  return choose_bytes(kept << (7 - e / 2 * 4 - j), 0, 0x1111U * byte);
}

// The words of a block, one for each lane.
__device__ inline std::int64_t kept_block(const RowAttention& call, const Segment& segment, int u,
                                          int v) {
  const int mirrored = segment.groups() - 1 - u;
  const std::int64_t line = kept_line(segment.start, segment.index) + (u < mirrored ? u : mirrored);
  const int column = u <= mirrored ? v : mirrored + 1 + v;
  return ((line * call.heads + segment.head) * kept_line_blocks(call.longest) + column) * kGroup;
}

// The word of a lane whose rows are keys. Its queries 2 t and 2 t + 1 are rows of the lanes 4 (2 t)
// + g / 2 and 4 (2 t + 1) + g / 2 there, where its key is column g % 2. What is left is to change
// places of queries and keys: 4 x 4 bits for each of the two.
__device__ inline std::uint32_t read_kept_transposed(const std::uint32_t* block, int lane) {
  const int first = lane % 4 * 8 + lane / 8;
  std::uint32_t bits =
      choose_bytes(block[first], block[first + 4], lane / 4 % 2 == 0 ? 0x5410U : 0x7632U);
  std::uint32_t differing = (bits ^ (bits >> 3)) & 0x0a0a0a0aU;
  bits ^= differing ^ (differing << 3);
  differing = (bits ^ (bits >> 6)) & 0x00cc00ccU;
  return bits ^ differing ^ (differing << 6);
}

// Draws masks of blocks. 32 numbers at a time: of kRandomBits random words the i-th has bit i of
// all their random numbers, and these are compared with the threshold bit by bit, from the lowest
// on.
class KeptBits {
 public:
  __device__ explicit KeptBits(const Dropout& dropout)
      : threshold_(dropout.threshold >> (16 - kRandomBits)),
        seed_(dropout.place.seed),
        offset_(dropout.place.offset) {
    if (dropout.place.device_seed != nullptr) {
      seed_ = static_cast<std::uint64_t>(*dropout.place.device_seed);
      offset_ += static_cast<std::uint64_t>(*dropout.place.device_offset);
    }
  }

  // Depends on where the rows are and on nothing that a longer segment elsewhere would change.
  __device__ std::uint32_t draw(const Segment& segment, int u, int v, int lane) const {
    const std::uint64_t sequence = static_cast<std::uint64_t>(segment.head) << 48 |
                                   static_cast<std::uint64_t>(segment.start + kGroup * u) << 16 |
                                   static_cast<std::uint64_t>(v * kGroup + lane);
    std::uint32_t kept = kAllKept;
#pragma unroll
    for (int draw = 0; draw < kDraws; ++draw) {
      const uint4 bits = philox<kFewestRounds>(seed_, offset_ / 4 + draw, sequence);
      const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t either = (threshold_ >> (4 * draw + i) & 1U) - 1U;  // all where it is 0
        kept = (kept & words[i]) | (kept & either) | (words[i] & either);
      }
    }
    return kept;
  }

 private:
  std::uint32_t threshold_;
  std::uint64_t seed_;
  std::uint64_t offset_;
};

}  // namespace myxtts::device
