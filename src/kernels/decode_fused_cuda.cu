// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode_fused.cuh"

#include "kernels/code_sampling_cuda.cuh"

// Note [One kernel for a step]
//
// At batch 1 a step reads every weight once and computes next to nothing: 755 MB in bf16, 175 us at
// the speed of an H200's memory. Kernels that follow one another cannot reach that, for at each
// boundary the memory idles. Here 128 blocks, one on each multiprocessor, live for the whole step.
//
// - A producer warp of each block streams the block's weights, in the order of their use, through a
//   ring in shared memory that holds nearly a layer. It never waits for anything but a free place,
//   so the memory goes on working while blocks wait for each other. Keys and values take the same
//   way.
// - Eight warps compute. Each block owns 8 columns of everything (32 of the MLP's inner layer), for
//   which it needs the whole input vector: five times in a layer all blocks tell all others what
//   they computed.
// - Telling is one store, hearing one load: a place in global memory holds kSilence until a value
//   comes. There is no barrier and no flag, so a value is one trip to L2 old when it is heard. Four
//   sets of places take turns from layer to layer, few enough to stay in L2; who tells something
//   wipes what it told two layers before, which all have heard, for they told something since. What
//   all blocks hear is told several times over, for many blocks at one line of L2 hinder each
//   other.
// - Products are taken by tensor cores, the activations as the sum of two bf16 numbers (16 bits of
//   mantissa), so that only the weights are rounded. Rows 0-7 of the tile hold the upper halves of
//   up to eight rows of the batch, rows 8-15 the lower ones; 16 rows take two products.
// - Attention splits a head's keys among up to 8 blocks; who hears the parts joins them.

namespace myxtts::fused {
namespace {

[[maybe_unused]] constexpr int kWarps = 8;  // that compute; one more copies
[[maybe_unused]] constexpr int kComputing = kWarps * 32;
[[maybe_unused]] constexpr int kThreads = kComputing + 32;
[[maybe_unused]] constexpr float kNormEpsilon = 1e-5F;
[[maybe_unused]] constexpr std::uint32_t kSilence = 0xFFFFFFFFU;  // a NaN that no computation gives
[[maybe_unused]] constexpr int kLanesOfKey = 8;                   // each with 8 numbers of the head
[[maybe_unused]] constexpr int kKeysOfWarp = 32 / kLanesOfKey;
[[maybe_unused]] constexpr int kKeysOfTurn = kWarps * kKeysOfWarp;
[[maybe_unused]] constexpr int kTurns = (kMostSplitKeys + kKeysOfTurn - 1) / kKeysOfTurn;
[[maybe_unused]] constexpr int kTaskKeys = 64;
[[maybe_unused]] constexpr int kTaskTurns = kTaskKeys / kKeysOfWarp;
[[maybe_unused]] constexpr int kMostTasks = 2 * ((kMostKeys + kTaskKeys - 1) / kTaskKeys);
[[maybe_unused]] constexpr int kKeyBytes = kHeadWidth * 2;
[[maybe_unused]] constexpr int kPartFloats = kHeadWidth + 2;
[[maybe_unused]] constexpr int kPadding =
    8;  // bf16 numbers between rows of an operand, against bank conflicts

// Shared memory of a block, in bytes from its start. kRows is the capacity in rows.
template <int kRows>
struct Layout {
  static constexpr int kReplicas = replicas_for(kRows);
  static constexpr int kOperandQuarters = kRows <= 2 ? 4 : 1;  // of 1024 inputs each
  static constexpr int kOperandStride = kWidth + kPadding;
  static constexpr int kOperand = 2 * kRows * kOperandQuarters * kOperandStride * 2;  // both halves
  static constexpr int kSums = 2 * kWarps * 4 * kRows * kColumns * 4;  // [2][warp][tile][row][8]
  static constexpr int kMoments = 2 * kRows * kWarps * 8;
  static constexpr int kParts = (kRows == 1 ? 2 * kWarps : kMostTasks) * kPartFloats * 4;
  static constexpr int kScratch = sampling::scratch_bytes(kMostIds);
  static constexpr int kBarriers = 256 + kMostRows * 8;  // and where the rows stand
  static constexpr int kShared = kOperand > kScratch ? kOperand : kScratch;
  static constexpr int kRing = (kBarriers + kShared + kSums + kMoments + kParts + 127) / 128 * 128;
  static constexpr int kSlots = (232448 - kRing) / kSlotBytes;
  static constexpr int kBytes = kRing + kSlots * kSlotBytes;
  static_assert(kSlots >= 5 && kSlots <= 16);
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void barrier_init(std::uint64_t* barrier, std::uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(count));
}

__device__ void barrier_wait(std::uint64_t* barrier, std::uint32_t phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}

__device__ void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// The barrier's phase will end when so many bytes have come.
__device__ void barrier_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Copies to shared memory in the background, and counts the bytes at the barrier.
__device__ void copy_to_shared(void* to, const void* from, std::uint32_t bytes,
                               std::uint64_t* barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], "
      "%2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

__device__ std::uint64_t read_once_policy() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ void sync_computing() {
  asm volatile("bar.sync 1, %0;" ::"n"(kComputing) : "memory");
}

// Stores for the other blocks, and wipes the place for the next step.
__device__ void tell(float* place, float* other, float value) {
  asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");
  asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(other), "r"(kSilence) : "memory");
}

__device__ float4 look4(const float* place) {
  float4 v;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(place)
               : "memory");
  return v;
}

__device__ float2 look2(const float* place) {
  float2 v;
  asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(v.x), "=f"(v.y)
               : "l"(place)
               : "memory");
  return v;
}

__device__ bool told(float value) {
  return __float_as_uint(value) != kSilence;
}
__device__ bool told(float4 v) {
  return told(v.x) && told(v.y) && told(v.z) && told(v.w);
}
__device__ bool told(float2 v) {
  return told(v.x) && told(v.y);
}

// Waits for four numbers.
__device__ float4 hear4(const float* place) {
  float4 v = look4(place);
  while (!told(v)) v = look4(place);
  return v;
}

__device__ float gelu_tanh(float x) {
  return 0.5F * x * (1.0F + tanhf(0.7978845608028654F * (x + 0.044715F * x * x * x)));
}

__device__ void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers as bf16, and what is left of them.
struct Halves {
  std::uint32_t upper;
  std::uint32_t lower;
};
__device__ Halves split(float first, float second) {
  const __nv_bfloat162 upper = __floats2bfloat162_rn(first, second);
  const float2 rounded = __bfloat1622float2(upper);
  const __nv_bfloat162 lower = __floats2bfloat162_rn(first - rounded.x, second - rounded.y);
  Halves result;
  result.upper = *reinterpret_cast<const std::uint32_t*>(&upper);
  result.lower = *reinterpret_cast<const std::uint32_t*>(&lower);
  return result;
}

__device__ void unpack(const uint4& bits, float (&to)[8]) {
  const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
  }
}

__device__ float rounded(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

// What of a row does not change during the step.
struct RowNow {
  int past;  // keys before the newest
  int finished;
};

// The keys of a lone row that a block takes for its head, the newest not counted.
struct Share {
  int splits;  // blocks that have a part
  int first;
  int count;
  bool mine;
};
__device__ Share share_of(const RowNow& row, int place) {
  Share share;
  share.splits = min(kBlocksOfHead, max(1, (row.past + kSplitKeys - 1) / kSplitKeys));
  const int each = (row.past + share.splits - 1) / share.splits;
  share.first = min(place * each, row.past);
  share.mine = place < share.splits;
  share.count = share.mine ? min(each, row.past - share.first) : 0;
  return share;
}

// Among several rows a block has the whole head of some of them, in tasks of so many keys that a
// warp takes each.
__device__ int tasks_of(const RowNow& row) {
  return row.finished != 0 ? 0 : (row.past + kTaskKeys - 1) / kTaskKeys;
}

// The ring of shared memory between the copying warp and the computing ones.
struct Ring {
  std::uint64_t* full;
  std::uint64_t* empty;
  std::uint8_t* slots;
  int count;
  int slot = 0;
  std::uint32_t phase = 0;

  __device__ void move_on() {
    if (++slot == count) {
      slot = 0;
      phase ^= 1U;
    }
  }
};

template <int kRows>
class Block {
 public:
  using Plan = Layout<kRows>;
  static constexpr int kReplicas = Plan::kReplicas;

  __device__ Block(const Step& step, std::uint8_t* memory)
      : step_(step),
        tables_(step.tables),
        block_(static_cast<int>(blockIdx.x)),
        head_(block_ / kBlocksOfHead),
        place_(block_ % kBlocksOfHead),
        thread_(static_cast<int>(threadIdx.x)),
        warp_(thread_ / 32),
        lane_(thread_ % 32),
        rows_(step.tables.row_count) {
    ring_.full = reinterpret_cast<std::uint64_t*>(memory);
    ring_.empty = ring_.full + 16;
    ring_.slots = memory + Plan::kRing;
    ring_.count = Plan::kSlots;
    now_ = reinterpret_cast<RowNow*>(ring_.full + 32);
    std::uint8_t* next = memory + Plan::kBarriers;
    operand_ = reinterpret_cast<__nv_bfloat16*>(next);
    next += Plan::kShared;
    sums_ = reinterpret_cast<float*>(next);
    next += Plan::kSums;
    moments_ = reinterpret_cast<float2*>(next);
    next += Plan::kMoments;
    parts_ = reinterpret_cast<float*>(next);
  }

  __device__ void prepare() {
    if (thread_ == 0) {
      for (int i = 0; i < Plan::kSlots; ++i) {
        barrier_init(ring_.full + i, 1);
        barrier_init(ring_.empty + i, kWarps);
      }
      for (int i = 0; i < rows_; ++i) {
        const DeviceRow& row = tables_.rows[i];
        now_[i] = {row.prefix + row.step, row.finished};
      }
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
  }

  // The copying warp: everything the block will need, in the order of need.
  __device__ void copy() {
    if (lane_ != 0) return;
    const std::uint64_t policy = read_once_policy();
    const std::uint8_t* next =
        step_.network.stream +
        static_cast<std::int64_t>(block_) *
            ((static_cast<std::int64_t>(step_.network.layers) * kLayerChunks + kHeadChunks) *
             kChunkBytes);
    std::uint32_t turn = 0;
    const auto claim = [&] {  // waits for a free place
      if (turn++ >= static_cast<std::uint32_t>(ring_.count)) {
        barrier_wait(ring_.empty + ring_.slot, ring_.phase ^ 1U);
      }
      return ring_.slots + ring_.slot * kSlotBytes;
    };
    const auto fetch = [&](std::uint8_t* to, const void* from, int bytes) {
      copy_to_shared(to, from, static_cast<std::uint32_t>(bytes), ring_.full + ring_.slot, policy);
    };
    const auto put = [&](const void* from, int bytes) {
      std::uint8_t* const to = claim();
      barrier_expect(ring_.full + ring_.slot, static_cast<std::uint32_t>(bytes));
      fetch(to, from, bytes);
      ring_.move_on();
    };
    const auto put_both = [&](const void* keys, const void* values, int bytes) {
      std::uint8_t* const to = claim();
      barrier_expect(ring_.full + ring_.slot, 2 * static_cast<std::uint32_t>(bytes));
      fetch(to, keys, bytes);
      fetch(to + kTaskKeys * kKeyBytes, values, bytes);
      ring_.move_on();
    };
    const auto chunks = [&](int count) {
      for (int i = 0; i < count; ++i, next += kChunkBytes) put(next, kChunkBytes);
    };
    for (int layer = 0; layer < step_.network.layers; ++layer) {
      chunks(3);
      if constexpr (kRows == 1) {
        const Share share = share_of(now_[0], place_);
        const std::int64_t at = cache_place(layer, 0) + share.first * kHeadWidth;
        if (share.count > 0) put(step_.keys + at, share.count * kKeyBytes);
        if (share.count > 0) put(step_.values + at, share.count * kKeyBytes);
      } else {
        for (int row = place_; row < rows_; row += kBlocksOfHead) {
          for (int key = 0; key < tasks_of(now_[row]) * kTaskKeys; key += kTaskKeys) {
            const std::int64_t at = cache_place(layer, row) + key * kHeadWidth;
            const int count = min(kTaskKeys, now_[row].past - key);
            put_both(step_.keys + at, step_.values + at, count * kKeyBytes);
          }
        }
      }
      chunks(1 + 4 + 4);
    }
    chunks(block_ == 0 ? 2 : 1);
  }

  // The computing warps.
  __device__ void compute() {
    begin();
    prefetch(0);
    for (layer_ = 0; layer_ < step_.network.layers; ++layer_) {
      floats_ = step_.network.floats + static_cast<std::int64_t>(layer_) * kLayerFloats;
      normalise(constants_.scale1, constants_.shift1);
      make_qkv();
      if constexpr (kRows == 1) {
        attend();
        hear_attention();
      } else {
        attend_rows();
        hear_x(kTellMixed);
      }
      add_attention();
      hear_x(kTellMiddle);
      normalise(constants_.scale2, constants_.shift2);
      make_hidden();
      add_mlp();
      prefetch(layer_ + 1);
      hear_x(kTellX);
    }
    finish();
  }

 private:
  __device__ std::int64_t cache_place(int layer, int row) const {
    return ((static_cast<std::int64_t>(layer) * rows_ + row) * kHeads + head_) * step_.capacity *
           kHeadWidth;
  }

  // Places of this layer in one replica.
  __device__ std::int64_t telling(int what, int row, int replica) const {
    return (static_cast<std::int64_t>(turn_of_layer() * kReplicas + replica) * rows_ + row) *
               kTellFloats +
           what;
  }
  __device__ int turn_of_layer() const { return (step_.first_turn + layer_) % kTurnsOfLayers; }

  // What this block hears: its own replica.
  __device__ const float* hearing(int what, int row) const {
    return step_.told + telling(what, row, block_ % kReplicas);
  }

  // Stores for the other blocks, and wipes the place of the layer after next.
  __device__ void tell_at(std::int64_t at, float value) const {
    constexpr int kOther = kTurnsOfLayers / 2;
    const std::int64_t each = static_cast<std::int64_t>(kReplicas) * rows_ * kTellFloats;
    tell(step_.told + at, step_.told + at + (turn_of_layer() < kOther ? each : -each) * kOther,
         value);
  }

  // x: this thread's four inputs of each row.
  __device__ void begin() {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      const DeviceRow& state = tables_.rows[row];
      const std::int64_t id = static_cast<std::int64_t>(state.next) * kWidth;
      const std::int64_t position = static_cast<std::int64_t>(state.step) * kWidth;
      const float4 a = *reinterpret_cast<const float4*>(step_.network.embedding + id + 4 * thread_);
      const float4 b =
          *reinterpret_cast<const float4*>(step_.network.positions + position + 4 * thread_);
      x_[row] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
      if (thread_ % (rows_ * kColumns) / kColumns == row) {
        const int column = own_column();
        own_x_ = step_.network.embedding[id + column] + step_.network.positions[position + column];
      }
    }
  }

  __device__ void hear_x(int what) {
    float4 heard[kRows];
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row < rows_) heard[row] = look4(hearing(what, row) + 4 * thread_);
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      x_[row] = told(heard[row]) ? heard[row] : hear4(hearing(what, row) + 4 * thread_);
    }
  }

  // What a layer needs and is not streamed. Asked for while the blocks wait for each other, for
  // memory is far.
  struct Constants {
    float4 scale1, shift1, scale2, shift2;
    float qkv_bias, out_bias, in_bias, mlp_bias;  // of a lone row's sums
  };
  __device__ void prefetch(int layer) {
    if (layer >= step_.network.layers) {
      constants_.scale1 = four(step_.network.last_norm.scale);
      constants_.shift1 = four(step_.network.last_norm.shift);
      constants_.scale2 = four(step_.network.final_norm.scale);
      constants_.shift2 = four(step_.network.final_norm.shift);
      return;
    }
    const float* const f = step_.network.floats + static_cast<std::int64_t>(layer) * kLayerFloats;
    constants_.scale1 = four(f + kScale1);
    constants_.shift1 = four(f + kShift1);
    constants_.scale2 = four(f + kScale2);
    constants_.shift2 = four(f + kShift2);
    if constexpr (kRows == 1) {
      if (thread_ < 24) constants_.qkv_bias = f[kQkvBias + thread_ / 8 * kWidth + own_column()];
      constants_.in_bias = f[kInBias + block_ * kHiddenColumns + thread_ % kHiddenColumns];
      constants_.out_bias = f[kOutBias + own_column()];
      constants_.mlp_bias = f[kMlpOutBias + own_column()];
    } else {
      // The biases' lines come to L2 at least.
      const int line = (block_ * kComputing + thread_) * 32;
      if (line < kLayerFloats) asm volatile("prefetch.global.L2 [%0];" ::"l"(f + line));
    }
  }
  __device__ float4 four(const float* from) const {
    return *reinterpret_cast<const float4*>(from + 4 * thread_);
  }

  // Layer norm of x in place.
  __device__ void normalise(const float4& factor, const float4& offset) {
    float2* const moments = moments_ + (turn_ & 1) * kRows * kWarps;
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      const float2 own = warp_moments(x_[row]);
      if (lane_ == 0) moments[row * kWarps + warp_] = own;
    }
    ++turn_;
    sync_computing();
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      const float2 all = joined_moments(moments + row * kWarps);
      const float slope = rsqrtf(all.y / kWidth + kNormEpsilon);
      float4& x = x_[row];
      x.x = (x.x - all.x) * slope * factor.x + offset.x;
      x.y = (x.y - all.x) * slope * factor.y + offset.y;
      x.z = (x.z - all.x) * slope * factor.z + offset.z;
      x.w = (x.w - all.x) * slope * factor.w + offset.w;
    }
  }

  // Mean and sum of squared distances from it, of the warp's 128 numbers.
  __device__ float2 warp_moments(const float4& x) const {
    float mean = (x.x + x.y + x.z + x.w) * 0.25F;
    float squares = (x.x - mean) * (x.x - mean) + (x.y - mean) * (x.y - mean) +
                    (x.z - mean) * (x.z - mean) + (x.w - mean) * (x.w - mean);
    float count = 4;  // of each of the two sides that are joined
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
      const float other_mean = __shfl_xor_sync(~0U, mean, step);
      const float other_squares = __shfl_xor_sync(~0U, squares, step);
      const float distance = other_mean - mean;
      squares += other_squares + distance * distance * count * 0.5F;
      mean = (mean + other_mean) * 0.5F;
      count *= 2;
    }
    return make_float2(mean, squares);
  }

  __device__ float2 joined_moments(const float2* parts) const {
    float mean = 0;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) mean += parts[i].x * (1.0F / kWarps);
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
      const float distance = parts[i].x - mean;
      squares += parts[i].y + distance * distance * 128.0F;
    }
    return make_float2(mean, squares);
  }

  // Puts this thread's four inputs of each row where its warp takes them from: a warp multiplies
  // only what its own threads hold, so no barrier of the block is needed.
  __device__ void put_operand(int quarter) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      const Halves first = split(x_[row].x, x_[row].y);
      const Halves second = split(x_[row].z, x_[row].w);
      *reinterpret_cast<uint2*>(operand_at(quarter, row, 0) + 4 * thread_) =
          make_uint2(first.upper, second.upper);
      *reinterpret_cast<uint2*>(operand_at(quarter, row, 1) + 4 * thread_) =
          make_uint2(first.lower, second.lower);
    }
    __syncwarp();
  }

  __device__ __nv_bfloat16* operand_at(int quarter, int row, int half) const {
    return operand_ + ((quarter * kRows + row) * 2 + half) * Plan::kOperandStride;
  }

  // The warp's 128 inputs as the tensor core wants them: four pieces of 32.
  static constexpr int kSets = kRows > 8 ? 2 : 1;
  struct Operand {
    std::uint32_t a[kSets][8][4];
  };
  __device__ void get_operand(int quarter, Operand& operand) const {
    const int group = lane_ / 4;
    const int first = warp_ * 128 + lane_ % 4 * 8;
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
      uint4 upper = {}, lower = {}, upper8 = {}, lower8 = {};
      const int at = first + piece * 32;
      if (group < rows_) {
        upper = *reinterpret_cast<const uint4*>(operand_at(quarter, group, 0) + at);
        lower = *reinterpret_cast<const uint4*>(operand_at(quarter, group, 1) + at);
      }
      if (kSets == 2 && group + 8 < rows_) {
        upper8 = *reinterpret_cast<const uint4*>(operand_at(quarter, group + 8, 0) + at);
        lower8 = *reinterpret_cast<const uint4*>(operand_at(quarter, group + 8, 1) + at);
      }
      // One set: rows 8-15 are the lower halves of rows 0-7. Two: upper halves, then lower ones.
      set(operand.a[0], piece, upper, kSets == 2 ? upper8 : lower);
      if (kSets == 2) set(operand.a[kSets - 1], piece, lower, lower8);
    }
    __syncwarp();
  }
  __device__ static void set(std::uint32_t (&a)[8][4], int piece, const uint4& top,
                             const uint4& bottom) {
    a[2 * piece][0] = top.x;
    a[2 * piece][1] = bottom.x;
    a[2 * piece][2] = top.y;
    a[2 * piece][3] = bottom.y;
    a[2 * piece + 1][0] = top.z;
    a[2 * piece + 1][1] = bottom.z;
    a[2 * piece + 1][2] = top.w;
    a[2 * piece + 1][3] = bottom.w;
  }

  // Waits for the ring's next place and gives its number.
  __device__ int take() {
    barrier_wait(ring_.full + ring_.slot, ring_.phase);
    const int slot = ring_.slot;
    ring_.move_on();
    return slot;
  }

  // The warp needs the place no more.
  __device__ void release(int slot) {
    __syncwarp();
    if (lane_ == 0) barrier_arrive(ring_.empty + slot);
  }

  // Chunks times the warp's inputs, c[i] for chunk i. Products of one tile wait for each other, so
  // tiles take turns and a tile has several sums.
  template <int kTiles>
  __device__ void multiply_chunks(const Operand& operand, float (&c)[kTiles][4]) {
    constexpr int kSums = kTiles == 1 ? 4 : 2;
    int slots[kTiles];
    float sums[kTiles][kSums][4] = {};
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) slots[tile] = take();
#pragma unroll
    for (int piece = 0; piece < 4; ++piece) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const uint4 w = reinterpret_cast<const uint4*>(
            ring_.slots + slots[tile] * kSlotBytes)[warp_ * 128 + piece * 32 + lane_];
#pragma unroll
        for (int i = 0; i < kSets; ++i) {
          multiply(sums[tile][2 * piece % kSums], operand.a[i][2 * piece], w.x, w.y);
          multiply(sums[tile][(2 * piece + 1) % kSums], operand.a[i][2 * piece + 1], w.z, w.w);
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) release(slots[tile]);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < kSums; ++j) c[tile][i] += sums[tile][j][i];
      }
    }
  }

  // The warp's part of a tile of 8 outputs, for add_up().
  __device__ void put_sums(int tile, const float (&c)[4]) {
    float* const sums = sums_ + (turn_ & 1) * (Plan::kSums / 8) + (warp_ * 4 + tile) * kRows * 8;
    const int row = lane_ / 4;
    const int column = lane_ % 4 * 2;
    if (kSets == 1) {
      if (row < rows_) {
        *reinterpret_cast<float2*>(sums + row * 8 + column) = make_float2(c[0] + c[2], c[1] + c[3]);
      }
    } else {
      if (row < rows_) {
        *reinterpret_cast<float2*>(sums + row * 8 + column) = make_float2(c[0], c[1]);
      }
      if (row + 8 < rows_) {
        *reinterpret_cast<float2*>(sums + (row + 8) * 8 + column) = make_float2(c[2], c[3]);
      }
    }
  }

  // Element `index` = row * 8 + column of a tile, over all warps.
  __device__ float sum_of(const float* sums, int tile, int index) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) sum += sums[(i * 4 + tile) * kRows * 8 + index];
    return sum;
  }

  // Ends a turn of products: gives where the sums of all warps are. Two sets take turns, so that
  // one barrier is enough.
  __device__ const float* end_sums() {
    const float* const sums = sums_ + (turn_ & 1) * (Plan::kSums / 8);
    ++turn_;
    sync_computing();
    return sums;
  }

  template <int kTiles>
  __device__ const float* multiply_tiles() {
    put_operand(0);
    Operand operand;
    get_operand(0, operand);
    float c[kTiles][4] = {};
    multiply_chunks(operand, c);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) put_sums(tile, c[tile]);
    return end_sums();
  }

  __device__ void make_qkv() {
    const float* const sums = multiply_tiles<3>();
    for (int i = thread_; i < 3 * rows_ * 8; i += kComputing) {
      const int tile = i / (rows_ * 8);
      const int index = i % (rows_ * 8);
      const int row = index / 8;
      const int column = block_ * kColumns + index % 8;
      const float bias =
          kRows == 1 ? constants_.qkv_bias : floats_[kQkvBias + tile * kWidth + column];
      const float value = sum_of(sums, tile, index) + bias;
      if (now_[row].finished != 0) continue;
      tell_at(telling(kTellQkv + tile * kWidth, row, 0) + column, value);
      if (tile == 0) continue;
      __nv_bfloat16* const cache = tile == 1 ? step_.keys : step_.values;
      cache[cache_place(layer_, row) + static_cast<std::int64_t>(now_[row].past) * kHeadWidth +
            place_ * kColumns + index % 8] = __float2bfloat16_rn(value);
    }
  }

  // Eight numbers of the head's q, k or v: those of this lane.
  struct Numbers {
    float4 low;
    float4 high;
    __device__ bool told_all() const { return told(low) && told(high); }
    __device__ void get(float (&to)[8]) const {
      to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
      to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
    }
  };
  __device__ Numbers look_at(int what, int row) const {
    const float* const place = step_.told + telling(kTellQkv + what * kWidth, row, 0) +
                               head_ * kHeadWidth + lane_ % kLanesOfKey * 8;
    return {look4(place), look4(place + 4)};
  }

  // The head's query, in bits of the softmax; and the newest key and value where asked for, as they
  // are rounded in the cache.
  __device__ void hear_head(int row, bool newest, float (&q)[8], float (&k)[8],
                            float (&v)[8]) const {
    Numbers a = look_at(0, row);
    Numbers b = a, c = a;
    if (newest) {
      b = look_at(1, row);
      c = look_at(2, row);
    }
    while (!a.told_all()) a = look_at(0, row);
    a.get(q);
#pragma unroll
    for (int i = 0; i < 8; ++i) q[i] *= 0.125F * 1.4426950408889634F;  // 1 / sqrt(64)
    if (!newest) return;
    while (!b.told_all()) b = look_at(1, row);
    while (!c.told_all()) c = look_at(2, row);
    b.get(k);
    c.get(v);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      k[i] = rounded(k[i]);
      v[i] = rounded(v[i]);
    }
  }

  __device__ static float score_of(const float (&q)[8], const float (&k)[8]) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += q[i] * k[i];
    sum += __shfl_xor_sync(~0U, sum, 1);
    sum += __shfl_xor_sync(~0U, sum, 2);
    return sum + __shfl_xor_sync(~0U, sum, 4);
  }

  // What a warp finds over some keys: the largest score, and relative to it the sum of weights and,
  // in each lane, eight numbers of the weighted values.
  struct Part {
    float most = -INFINITY;
    float total = 0;
    float mixed[8] = {};
  };

  // Eight lanes take a key, four keys a warp: keys first, first + stride, ... below count.
  template <int kMostTurns>
  __device__ void scores_of(const std::uint8_t* slot, int first, int stride, int count,
                            const float (&q)[8], float (&scores)[kMostTurns + 1],
                            Part& part) const {
    const uint4* const keys = reinterpret_cast<const uint4*>(slot) + lane_ % kLanesOfKey;
#pragma unroll
    for (int turn = 0; turn < kMostTurns; ++turn) {
      const int key = first + turn * stride;
      float k[8] = {};
      if (key < count) unpack(keys[key * kLanesOfKey], k);
      const float score = score_of(q, k);
      scores[turn] = key < count ? score : -INFINITY;
      part.most = fmaxf(part.most, scores[turn]);
    }
  }

  template <int kMostTurns>
  __device__ void mix(const std::uint8_t* slot, int first, int stride, int count,
                      const float (&scores)[kMostTurns + 1], Part& part) const {
    const uint4* const values = reinterpret_cast<const uint4*>(slot) + lane_ % kLanesOfKey;
#pragma unroll
    for (int turn = 0; turn < kMostTurns; ++turn) {
      const int key = first + turn * stride;
      if (key >= count) continue;
      float v[8];
      unpack(values[key * kLanesOfKey], v);
      add_value(exp2f(scores[turn] - part.most), v, part);
    }
  }

  __device__ static void add_value(float weight, const float (&v)[8], Part& part) {
    part.total += weight;
#pragma unroll
    for (int i = 0; i < 8; ++i) part.mixed[i] += weight * v[i];
  }

  // The newest key, by the first eight lanes.
  __device__ void score_newest(const float (&q)[8], const float (&k)[8], float& score,
                               Part& part) const {
    const float found = score_of(q, k);
    if (lane_ < kLanesOfKey) score = found;
    part.most = fmaxf(part.most, score);
  }

  __device__ static void join_most(Part& part) {
    part.most = fmaxf(part.most, __shfl_xor_sync(~0U, part.most, 8));
    part.most = fmaxf(part.most, __shfl_xor_sync(~0U, part.most, 16));
  }

  // Adds up the four groups of lanes and leaves the part in shared memory.
  __device__ void keep_part(Part& part, float* to) const {
#pragma unroll
    for (int step = 8; step < 32; step <<= 1) {
      part.total += __shfl_xor_sync(~0U, part.total, step);
#pragma unroll
      for (int i = 0; i < 8; ++i) part.mixed[i] += __shfl_xor_sync(~0U, part.mixed[i], step);
    }
    if (lane_ < kLanesOfKey) {
#pragma unroll
      for (int i = 0; i < 8; ++i) to[lane_ * 8 + i] = part.mixed[i];
    }
    if (lane_ == 0) {
      to[kHeadWidth] = part.most;
      to[kHeadWidth + 1] = part.total;
    }
  }

  // A lone row: this block's share of the head's keys, divided among all warps.
  __device__ void attend() {
    const Share share = share_of(now_[0], place_);
    if (!share.mine) return;
    float q[8], k[8], v[8];
    const bool newest = place_ == 0 && warp_ == 0;
    hear_head(0, newest, q, k, v);
    Part part;
    float scores[kTurns + 1];
    scores[kTurns] = -INFINITY;
    const int first = warp_ * kKeysOfWarp + lane_ / kLanesOfKey;
    int slot = 0;
    if (share.count > 0) slot = take();
    scores_of<kTurns>(ring_.slots + slot * kSlotBytes, first, kKeysOfTurn, share.count, q, scores,
                      part);
    if (share.count > 0) release(slot);
    if (newest) score_newest(q, k, scores[kTurns], part);
    join_most(part);
    if (share.count > 0) slot = take();
    mix<kTurns>(ring_.slots + slot * kSlotBytes, first, kKeysOfTurn, share.count, scores, part);
    if (share.count > 0) release(slot);
    if (newest && lane_ < kLanesOfKey) add_value(exp2f(scores[kTurns] - part.most), v, part);

    float* const parts = parts_ + (turn_ & 1) * kWarps * kPartFloats;
    ++turn_;
    keep_part(part, parts + warp_ * kPartFloats);
    sync_computing();
    const Joined joined = join(parts, kWarps);
    const int at = head_ * kBlocksOfHead + place_;
#pragma unroll
    for (int i = 0; i < kReplicas; i += kComputing / kHeadWidth) {
      tell_at(
          telling(kTellParts, 0, i + thread_ / kHeadWidth) + at * kHeadWidth + thread_ % kHeadWidth,
          joined.mixed);
    }
    if (thread_ < 2 * kReplicas) {
      tell_at(telling(kTellSums, 0, thread_ / 2) + at * 2 + thread_ % 2,
              thread_ % 2 == 0 ? joined.most : joined.total);
    }
  }

  // Several rows: this block has its head of rows place, place + 8, and each warp takes tasks. All
  // warps go through all places of the ring, or a fast one could mistake a phase for another.
  __device__ void attend_rows() {
    int task = 0;
    for (int row = place_; row < rows_; row += kBlocksOfHead) {
      for (int i = 0; i < parts_of(row); ++i, ++task) {
        const bool streamed = i < tasks_of(now_[row]);
        int slot = 0;
        if (streamed) slot = take();
        if (task % kWarps == warp_) do_task(row, i, slot, parts_ + task * kPartFloats);
        if (streamed) release(slot);
      }
    }
    ++turn_;
    sync_computing();
    task = 0;
    for (int row = place_; row < rows_; row += kBlocksOfHead) {
      // Both rows are joined at once, by different warps.
      if (thread_ / kHeadWidth == row / kBlocksOfHead) {
        const Joined joined = join(parts_ + task * kPartFloats, parts_of(row));
        const float mixed = now_[row].finished != 0 ? 0.0F : joined.mixed / joined.total;
        for (int i = 0; i < kReplicas; ++i) {
          tell_at(telling(kTellMixed, row, i) + head_ * kHeadWidth + thread_ % kHeadWidth, mixed);
        }
      }
      task += parts_of(row);
    }
  }

  // Without past keys there is a part all the same, for the newest.
  __device__ int parts_of(int row) const {
    return now_[row].finished != 0 ? 0 : max(1, tasks_of(now_[row]));
  }

  // Keys [64 i, 64 i + 64) of a row, and with the first of them the newest.
  __device__ void do_task(int row, int i, int slot, float* to) {
    float q[8], k[8], v[8];
    hear_head(row, i == 0, q, k, v);
    Part part;
    float scores[kTaskTurns + 1];
    scores[kTaskTurns] = -INFINITY;
    const int first = lane_ / kLanesOfKey;
    const int count = min(kTaskKeys, now_[row].past - i * kTaskKeys);
    const std::uint8_t* const keys = ring_.slots + slot * kSlotBytes;
    scores_of<kTaskTurns>(keys, first, kKeysOfWarp, count, q, scores, part);
    if (i == 0) score_newest(q, k, scores[kTaskTurns], part);
    join_most(part);
    mix<kTaskTurns>(keys + kTaskKeys * kKeyBytes, first, kKeysOfWarp, count, scores, part);
    if (i == 0 && lane_ < kLanesOfKey) add_value(exp2f(scores[kTaskTurns] - part.most), v, part);
    keep_part(part, to);
  }

  // Parts as one: the thread's number of the head.
  struct Joined {
    float most;
    float total;
    float mixed;
  };
  __device__ Joined join(const float* parts, int count) const {
    Joined joined = {-INFINITY, 0, 0};
    for (int i = 0; i < count; ++i) {
      joined.most = fmaxf(joined.most, parts[i * kPartFloats + kHeadWidth]);
    }
    for (int i = 0; i < count; ++i) {
      const float* const part = parts + i * kPartFloats;
      const float weight = exp2f(part[kHeadWidth] - joined.most);  // 0 for a part without keys
      joined.mixed += weight * part[thread_ % kHeadWidth];
      joined.total += weight * part[kHeadWidth + 1];
    }
    return joined;
  }

  // x: the thread's four numbers of what attention gave, joined from the parts of their head.
  __device__ void hear_attention() {
    const int splits = share_of(now_[0], place_).splits;
    const std::int64_t head = thread_ / 16 * kBlocksOfHead;
    const float* const parts = hearing(kTellParts, 0) + head * kHeadWidth + thread_ % 16 * 4;
    const float* const sums = hearing(kTellSums, 0) + head * 2;
    float4 part[kBlocksOfHead];
    float2 sum[kBlocksOfHead];
    bool all = false;
    while (!all) {
#pragma unroll
      for (int i = 0; i < kBlocksOfHead; ++i) {
        if (i >= splits) break;
        part[i] = look4(parts + i * kHeadWidth);
        sum[i] = look2(sums + i * 2);
      }
      all = true;
#pragma unroll
      for (int i = 0; i < kBlocksOfHead; ++i) {
        if (i < splits) all = all && told(part[i]) && told(sum[i]);
      }
    }
    float most = -INFINITY;
#pragma unroll
    for (int i = 0; i < kBlocksOfHead; ++i) {
      if (i < splits) most = fmaxf(most, sum[i].x);
    }
    float4 mixed = {};
    float total = 0;
#pragma unroll
    for (int i = 0; i < kBlocksOfHead; ++i) {
      if (i >= splits) break;
      const float weight = exp2f(sum[i].x - most);
      total += weight * sum[i].y;
      mixed.x += weight * part[i].x;
      mixed.y += weight * part[i].y;
      mixed.z += weight * part[i].z;
      mixed.w += weight * part[i].w;
    }
    const float factor = 1.0F / total;
    x_[0] = make_float4(mixed.x * factor, mixed.y * factor, mixed.z * factor, mixed.w * factor);
  }

  // The block's 8 columns of the residual stream: thread (replica * rows + row) * 8 + column keeps
  // one, and tells one replica.
  __device__ void add_to_own(const float* sums, float bias, int what) {
    if (thread_ >= rows_ * kColumns * kReplicas) return;
    const int index = thread_ % (rows_ * kColumns);
    own_x_ += sum_of(sums, 0, index) + bias;
    tell_at(telling(what, index / kColumns, thread_ / (rows_ * kColumns)) + own_column(), own_x_);
  }

  __device__ void add_attention() {
    const float bias = kRows == 1 ? constants_.out_bias : floats_[kOutBias + own_column()];
    add_to_own(multiply_tiles<1>(), bias, kTellMiddle);
  }

  __device__ int own_column() const {
    return block_ * kColumns + thread_ % kColumns;
  }

  __device__ void make_hidden() {
    const float* const sums = multiply_tiles<4>();
    // Neighbours in a warp tell 32 numbers side by side; a lone row's replicas are other warps'.
    const int count = kHiddenColumns * rows_ * (kRows == 1 ? kReplicas : 1);
    for (int i = thread_; i < count; i += kComputing) {
      const int tile = i % kHiddenColumns / 8;
      const int row = kRows == 1 ? 0 : i / kHiddenColumns;
      const int column = block_ * kHiddenColumns + i % kHiddenColumns;
      const float bias = kRows == 1 ? constants_.in_bias : floats_[kInBias + column];
      const float value = gelu_tanh(sum_of(sums, tile, row * 8 + i % 8) + bias);
      if constexpr (kRows == 1) {
        tell_at(telling(kTellHidden, 0, i / kHiddenColumns) + column, value);
      } else {
        for (int j = 0; j < kReplicas; ++j) tell_at(telling(kTellHidden, row, j) + column, value);
      }
    }
    // What was wiped is wiped for everyone long before the place is used again.
    __threadfence();
  }

  __device__ void add_mlp() {
    const float bias = kRows == 1 ? constants_.mlp_bias : floats_[kMlpOutBias + own_column()];
    float c[4][4] = {};
    float4 heard[kQuarters][kRows];
#pragma unroll 1
    for (int first = 0; first < 4; first += kQuarters) {
      look_hidden(first, heard);
      Operand operand;
#pragma unroll
      for (int i = 0; i < kQuarters; ++i) {
        hear_hidden(first + i, heard[i]);
        put_operand(i);
      }
#pragma unroll
      for (int i = 0; i < kQuarters; ++i) {
        get_operand(i, operand);
        float sums[1][4] = {};
        multiply_chunks(operand, sums);
#pragma unroll
        for (int j = 0; j < 4; ++j) c[i][j] += sums[0][j];
      }
    }
#pragma unroll
    for (int i = 1; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) c[0][j] += c[i][j];
    }
    put_sums(0, c[0]);
    add_to_own(end_sums(), bias, kTellX);
  }

  static constexpr int kQuarters = Plan::kOperandQuarters;  // of the inner layer heard at once

  __device__ void look_hidden(int first, float4 (&heard)[kQuarters][kRows]) const {
#pragma unroll
    for (int i = 0; i < kQuarters; ++i) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        if (row < rows_) {
          heard[i][row] = look4(hearing(kTellHidden + (first + i) * kWidth, row) + 4 * thread_);
        }
      }
    }
  }

  __device__ void hear_hidden(int quarter, const float4 (&heard)[kRows]) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      x_[row] = told(heard[row]) ? heard[row]
                                 : hear4(hearing(kTellHidden + quarter * kWidth, row) + 4 * thread_);
    }
  }

  // The last norms, the head and the choice; row r is chosen for by block 8 r.
  __device__ void finish() {
    normalise(constants_.scale1, constants_.shift1);
    normalise(constants_.scale2, constants_.shift2);
    keep_latents();
    put_operand(0);
    Operand operand;
    get_operand(0, operand);
    const int tiles = block_ == 0 ? 2 : 1;
    for (int tile = 0; tile < tiles; ++tile) {
      float c[1][4] = {};
      multiply_chunks(operand, c);
      put_sums(tile, c[0]);
    }
    const float* const sums = end_sums();
    for (int i = thread_; i < tiles * rows_ * 8; i += kComputing) {
      const int tile = i / (rows_ * 8);
      const int index = i % (rows_ * 8);
      const int id = tile * kWidth + block_ * kColumns + index % 8;
      if (id >= tables_.ids) continue;
      const float value = sum_of(sums, tile, index) + step_.network.head_bias[id];
      const int at = index / 8 * kTellLogits + id;
      tell(step_.told_logits + at, step_.wiped_logits + at, value);
    }
    if (place_ != 0 || head_ >= rows_ || now_[head_].finished != 0) return;
    choose();
  }

  __device__ void keep_latents() const {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= rows_) break;
      if (block_ != row * kBlocksOfHead || now_[row].finished != 0) continue;
      float* const latent =
          tables_.latents +
          (static_cast<std::int64_t>(row) * tables_.most_codes + tables_.rows[row].step) * kWidth;
      *reinterpret_cast<float4*>(latent + 4 * thread_) = x_[row];
    }
  }

  __device__ void choose() {
    const int row = head_;
    sync_computing();  // the operand's memory is free
    const sampling::Workspace workspace(operand_, tables_.ids);
    const float* const places = step_.told_logits + row * kTellLogits;
    for (int id = thread_; id < tables_.ids; id += kComputing) {
      float value;
      do {
        asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];"
                     : "=f"(value)
                     : "l"(places + id)
                     : "memory");
      } while (!told(value));
      workspace.logit[id] = value;
    }
    sync_computing();
    sampling::finish_step(tables_, row, workspace);
  }

  const Step& step_;
  const RowTables& tables_;
  const int block_;
  const int head_;   // whose q, k, v this block makes and whose keys it reads
  const int place_;  // among the blocks of the head
  const int thread_;
  const int warp_;
  const int lane_;
  const int rows_;
  Ring ring_;
  RowNow* now_;  // [rows]
  __nv_bfloat16* operand_;
  float* sums_;
  float2* moments_;
  float* parts_;
  const float* floats_ = nullptr;  // of the layer
  int layer_ = 0;
  int turn_ = 0;  // which of two sets of shared memory the next barrier is for
  Constants constants_;
  float4 x_[kRows];
  float own_x_ = 0;
};

template <int kRows>
__global__ void __launch_bounds__(kThreads, 1) decode_step(const __grid_constant__ Step step) {
  extern __shared__ __align__(128) std::uint8_t memory[];
  bool any = false;
  for (int row = 0; row < step.tables.row_count; ++row) {
    any = any || step.tables.rows[row].finished == 0;
  }
  if (!any) return;
  Block<kRows> block(step, memory);
  block.prepare();
  if (threadIdx.x >= kComputing) {
    block.copy();
  } else {
    block.compute();
  }
}

#else

template <int kRows>
__global__ void decode_step(const __grid_constant__ Step step) {}

#endif

struct PackedLayer {
  const float* qkv;
  const float* attention_out;
  const float* mlp_in;
  const float* mlp_out;
};

// One thread for eight weights side by side in the stream. blockIdx: chunk, block of the decoder.
__global__ void pack_layer(PackedLayer layer, std::uint8_t* stream, std::int64_t stride) {
  const int chunk = static_cast<int>(blockIdx.x);
  const int block = static_cast<int>(blockIdx.y);
  const float* weight = layer.qkv;
  int outputs = 3 * kWidth;
  int output = chunk * kWidth + block * kColumns;
  int input = 0;
  if (chunk == 3) {
    weight = layer.attention_out;
    outputs = kWidth;
    output = block * kColumns;
  } else if (chunk >= 8) {
    weight = layer.mlp_out;
    outputs = kWidth;
    output = block * kColumns;
    input = (chunk - 8) * kWidth;
  } else if (chunk >= 4) {
    weight = layer.mlp_in;
    outputs = kHidden;
    output = block * kHiddenColumns + (chunk - 4) * kColumns;
  }
  __nv_bfloat16* const to =
      reinterpret_cast<__nv_bfloat16*>(stream + block * stride + chunk * kChunkBytes);
  for (int i = static_cast<int>(threadIdx.x); i < kChunkBytes / 16;
       i += static_cast<int>(blockDim.x)) {
    const int lane = i % 32;
    const int first = input + i / 32 * 32 + lane % 4 * 8;
    for (int j = 0; j < 8; ++j) {
      to[i * 8 + j] = __float2bfloat16_rn(
          weight[static_cast<std::int64_t>(first + j) * outputs + output + lane / 4]);
    }
  }
}

__global__ void pack_head(const float* weight, int ids, std::uint8_t* stream, std::int64_t stride) {
  const int chunk = static_cast<int>(blockIdx.x);
  const int block = static_cast<int>(blockIdx.y);
  __nv_bfloat16* const to =
      reinterpret_cast<__nv_bfloat16*>(stream + block * stride + chunk * kChunkBytes);
  for (int i = static_cast<int>(threadIdx.x); i < kChunkBytes / 16;
       i += static_cast<int>(blockDim.x)) {
    const int lane = i % 32;
    const int first = i / 32 * 32 + lane % 4 * 8;
    const int id = chunk * kWidth + block * kColumns + lane / 4;
    for (int j = 0; j < 8; ++j) {
      const float value = id < ids ? weight[static_cast<std::int64_t>(id) * kWidth + first + j] : 0;
      to[i * 8 + j] = __float2bfloat16_rn(value);
    }
  }
}

template <int kRows>
cudaError_t launch(const Step& step, cudaStream_t stream) {
  constexpr int kBytes = Layout<kRows>::kBytes;
  const cudaError_t allowed =
      cudaFuncSetAttribute(decode_step<kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (allowed != cudaSuccess) return allowed;
  // All blocks must be there at once, for they wait for each other.
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, decode_step<kRows>, step);
}

}  // namespace

const char* reason_against(const CodeDecoderShape& shape, int device) {
  if (shape.width != kWidth || shape.heads != kHeads) return "it is for the public model's width";
  if (shape.ids > kMostIds) return "it is for at most 1032 audio ids";
  if (shape.capacity > kMostKeys) return "it is for at most 1088 keys";
  if (shape.rows > kMostRows) return "it is for at most 16 rows";
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return "the GPU does not answer";
  if (properties.major < 9) return "it is for GPUs of compute capability 9.0 and newer";
  if (properties.multiProcessorCount < kBlocks) return "it is for GPUs of 128 multiprocessors";
  if (static_cast<int>(properties.sharedMemPerBlockOptin) < Layout<1>::kBytes) {
    return "it needs 227 KB of shared memory";
  }
  return "";
}

void launch_pack(const CodeDecoderWeights& weights, int ids, std::uint8_t* stream,
                 cudaStream_t cuda_stream) {
  const std::int64_t stride = stream_bytes(static_cast<int>(weights.layers.size()));
  std::uint8_t* next = stream;
  for (const LayerView& layer : weights.layers) {
    const PackedLayer packed = {layer.qkv.weight, layer.attention_out.weight, layer.mlp_in.weight,
                                layer.mlp_out.weight};
    pack_layer<<<dim3(kLayerChunks, kBlocks), 256, 0, cuda_stream>>>(packed, next, stride);
    next += kLayerChunks * kChunkBytes;
  }
  pack_head<<<dim3(kHeadChunks, kBlocks), 256, 0, cuda_stream>>>(weights.head.weight, ids, next,
                                                                 stride);
}

cudaError_t launch_step(const Step& step, cudaStream_t stream) {
  if (step.tables.row_count == 1) return launch<1>(step, stream);
  if (step.tables.row_count <= 8) return launch<8>(step, stream);
  return launch<16>(step, stream);
}

}  // namespace myxtts::fused
