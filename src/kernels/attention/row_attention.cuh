// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/attention/fragments.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/dropout_cuda.cuh"

namespace myxtts::device {

// Note [Order of blocks]
// Later rows see more, so blocks of threads differ in what they have to do. In a grid [longest /
// kOwned, heads, segments] those that read the same rows run at the same time and find them in the
// cache. In a grid [heads, segments, longest / kOwned] all that have most to do begin first, and
// none of them is left over when the others are done: worth more where there are few. Both are
// programs of their own: a choice at run time takes registers that are not there.
template <bool kHeavyFirst>
struct Order {
  // Of kOwned rows, from those with most to do on.
  __device__ static int number() { return static_cast<int>(kHeavyFirst ? blockIdx.z : blockIdx.x); }
  __device__ static int head() { return static_cast<int>(kHeavyFirst ? blockIdx.x : blockIdx.y); }
  __device__ static int segment() {
    return static_cast<int>(kHeavyFirst ? blockIdx.y : blockIdx.z);
  }
};

// What a block of threads works within: a segment and a head.
struct Segment {
  int index;
  int head;
  int start;   // its first row
  int length;  // rows

  template <bool kHeavyFirst>
  __device__ Segment(const RowAttention& call, Order<kHeavyFirst> order)
      : index(order.segment()),
        head(order.head()),
        start(call.ends[index]),
        length(call.ends[index + 1] - start) {}

  __device__ int groups() const { return (length + kGroup - 1) / kGroup; }
  __device__ int tiles() const { return (length + kTile - 1) / kTile; }
  __device__ int blocks() const { return (length + kOwned - 1) / kOwned; }

  // Query (part 0), key (1) or value (2) of the segment's rows.
  template <typename T>
  __device__ Rows<T> of_qkv(const RowAttention& call, T* qkv, int part) const {
    const std::int64_t stride = 3 * call.heads * kHeadWidth;
    return {qkv + start * stride + (part * call.heads + head) * kHeadWidth, stride};
  }
  template <typename T>
  __device__ Rows<T> of_mixed(const RowAttention& call, T* mixed) const {
    const std::int64_t stride = call.heads * kHeadWidth;
    return {mixed + start * stride + head * kHeadWidth, stride};
  }
  // Of [heads, rows].
  template <typename Number>
  __device__ Number* of_rows(const RowAttention& call, Number* numbers) const {
    return numbers + head * call.rows + start;
  }
};

// The group of a block's rows that a warp has. Warps differ in how much they see of a segment, and
// the warps of the same number share one of the multiprocessor's four schedulers: heads take turns.
__device__ inline int owned_group(const Segment& segment, int block) {
  return block * kWarps + (static_cast<int>(threadIdx.x) / kWarp + segment.head) % kWarps;
}

}  // namespace myxtts::device

// What both passes of attention share on the host, and what they give to the table of kernels.

namespace myxtts {

namespace device {

// Scores are divided by the root of the head's width; powers are of two.
constexpr float kScoreScale = 0.125F * 1.44269504F;

// Up to so many blocks of threads for each that runs at a time, those with most to do go first.
constexpr std::int64_t kFewWaves = 7;

// Calls `run` with a grid of `kinds` blocks of threads for each kOwned rows and its order (Note
// [Order of blocks]). A multiprocessor runs `at_a_time` of them.
template <typename Run>
void with_grid(const RowAttention& call, int kinds, int at_a_time, const Run& run) {
  const std::int64_t blocks = (call.longest + kOwned - 1) / kOwned * kinds;
  const auto numbers = static_cast<unsigned>(blocks);
  const auto heads = static_cast<unsigned>(call.heads);
  const auto segments = static_cast<unsigned>(call.segments);
  if (blocks * call.heads * call.segments <= kFewWaves * multiprocessor_count() * at_a_time) {
    run(dim3(heads, segments, numbers), Order<true>{});
  } else {
    run(dim3(numbers, heads, segments), Order<false>{});
  }
}

// Calls `run` with a value of the type that a Number of half precision names.
template <typename Run>
void with_half(Number number, const Run& run) {
  if (number == Number::Fp16) {
    run(__half{});
  } else {
    run(__nv_bfloat16{});
  }
}

}  // namespace device

}  // namespace myxtts

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
