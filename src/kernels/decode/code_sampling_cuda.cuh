// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/decode/decode_kernels.cuh"

// The rule of kernels/decode/code_sampling.h for one row, by one block. Sums are taken in a fixed
// order: the same logits and seed give the same code every time.

namespace myxtts::sampling {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kBarrier = 1;  // of the threads that choose, which may not be the whole block

__host__ __device__ constexpr int scratch_bytes(int ids) {
  return ids * static_cast<int>(sizeof(double) + sizeof(float) + sizeof(std::int32_t)) + 2048;
}

__device__ inline void sync() {
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}

// The shared memory of a choice, cut from one piece.
struct Workspace {
  __device__ Workspace(void* memory, int ids)
      : weight(static_cast<double*>(memory)),
        sums(weight + ids),
        logit(reinterpret_cast<float*>(sums + kWarps)),
        order(reinterpret_cast<std::int32_t*>(logit + ids)),
        counts(reinterpret_cast<std::uint32_t*>(order + ids)),
        ints(reinterpret_cast<std::int32_t*>(counts + 256)) {}

  double* weight;         // [ids] exp(logit - largest); 0 once dropped
  double* sums;           // [warps]
  float* logit;           // [ids] after penalty and temperature
  std::int32_t* order;    // [ids] what top-p sorts
  std::uint32_t* counts;  // [256]
  std::int32_t* ints;     // [kWarps + 4]
};

// Numbers that sort as the floats do.
__device__ inline std::uint32_t sortable(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// Random number `index` of RandomStream(seed, stream), in [0, 1).
__device__ inline double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  std::uint32_t c0 = static_cast<std::uint32_t>(index);
  std::uint32_t c1 = static_cast<std::uint32_t>(index >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream);
  std::uint32_t c3 = static_cast<std::uint32_t>(stream >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(second >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(first >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(second);
    c3 = static_cast<std::uint32_t>(first);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  const std::uint64_t word = c0 | static_cast<std::uint64_t>(c1) << 32;
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

// The first of the largest logits, in every thread.
__device__ inline int likeliest(const Workspace& w, int ids) {
  const int thread = static_cast<int>(threadIdx.x);
  float best = -INFINITY;
  int at = ids;
  for (int id = thread; id < ids; id += kThreads) {
    if (w.logit[id] > best || at == ids) {
      best = w.logit[id];
      at = id;
    }
  }
  for (int step = 16; step > 0; step >>= 1) {
    const float other = __shfl_xor_sync(~0U, best, step);
    const int other_at = __shfl_xor_sync(~0U, at, step);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  sync();  // ints may still be read for something else
  if (thread % 32 == 0) w.ints[thread / 32] = at;
  sync();
  at = w.ints[0];
  for (int i = 1; i < kWarps; ++i) {
    const int other = w.ints[i];
    if (other >= ids) continue;
    if (at >= ids || w.logit[other] > w.logit[at] ||
        (w.logit[other] == w.logit[at] && other < at)) {
      at = other;
    }
  }
  return at < ids ? at : 0;
}

// The k-th largest logit as sortable() gives it: four turns of counting by eight bits.
__device__ inline std::uint32_t kth_largest(const Workspace& w, int ids, int k) {
  const int thread = static_cast<int>(threadIdx.x);
  std::uint32_t found = 0;
  std::uint32_t known = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    sync();
    w.counts[thread] = 0;
    sync();
    for (int id = thread; id < ids; id += kThreads) {
      const std::uint32_t key = sortable(w.logit[id]);
      if ((key & known) == found) atomicAdd(&w.counts[key >> shift & 255U], 1U);
    }
    sync();
    if (thread < 32) {  // the lane's eight bins, the largest first
      std::uint32_t own = 0;
      for (int i = 0; i < 8; ++i) own += w.counts[255 - thread * 8 - i];
      std::uint32_t upto = own;
      for (int step = 1; step < 32; step <<= 1) {
        const std::uint32_t below = __shfl_up_sync(~0U, upto, step);
        if (thread >= step) upto += below;
      }
      std::uint32_t before = upto - own;
      if (before < static_cast<std::uint32_t>(k) && upto >= static_cast<std::uint32_t>(k)) {
        int bin = 255 - thread * 8;
        while (before + w.counts[bin] < static_cast<std::uint32_t>(k)) before += w.counts[bin--];
        w.ints[0] = bin;
        w.ints[1] = static_cast<std::int32_t>(before);
      }
    }
    sync();
    found |= static_cast<std::uint32_t>(w.ints[0]) << shift;
    known |= 255U << shift;
    k -= w.ints[1];
  }
  return found;
}

// The sum of `own` over the threads before this one, and over all.
struct Scan {
  double before;
  double total;
};
__device__ inline Scan scan(const Workspace& w, double own) {
  const int thread = static_cast<int>(threadIdx.x);
  double upto = own;
  for (int step = 1; step < 32; step <<= 1) {
    const double below = __shfl_up_sync(~0U, upto, step);
    if (thread % 32 >= step) upto += below;
  }
  sync();
  if (thread % 32 == 31) w.sums[thread / 32] = upto;
  sync();
  double before = upto - own;
  double total = 0;
  for (int i = 0; i < kWarps; ++i) {
    if (i < thread / 32) before += w.sums[i];
    total += w.sums[i];
  }
  return {before, total};
}

// Drops the least likely while they together have at most 1 - p; the likeliest stays.
__device__ inline void keep_top_p(const Workspace& w, int ids, float top_p, double total) {
  const int thread = static_cast<int>(threadIdx.x);
  sync();
  if (thread == 0) w.ints[0] = 0;
  sync();
  // Whom the list holds in which place is chance; the ranks below do not depend on it.
  std::int32_t* const members = reinterpret_cast<std::int32_t*>(w.order);
  for (int id = thread; id < ids; id += kThreads) {
    if (w.weight[id] > 0.0) members[atomicAdd(&w.ints[0], 1)] = id;
  }
  sync();
  const int count = w.ints[0];
  const int share = (count + kThreads - 1) / kThreads;
  // Each thread keeps the ranks of its members in registers until all have been found.
  constexpr int kMost = 36;  // 9216 ids
  std::int32_t rank[kMost];
  std::int32_t own[kMost];
#pragma unroll 1
  for (int i = 0; i < share && i < kMost; ++i) {
    const int place = i * kThreads + thread;
    if (place >= count) break;
    own[i] = members[place];
    rank[i] = 0;
    const float value = w.logit[own[i]];
#pragma unroll 8
    for (int j = 0; j < count; ++j) {
      const int other = members[j];
      const float against = w.logit[other];
      rank[i] += against < value || (against == value && other < own[i]) ? 1 : 0;
    }
  }
  sync();
#pragma unroll 1
  for (int i = 0; i < share && i < kMost; ++i) {
    if (i * kThreads + thread < count) w.order[rank[i]] = own[i];
  }
  sync();
  const int begin = min(thread * share, count);
  const int end = min(begin + share, count);
  double mine = 0;
  for (int i = begin; i < end; ++i) mine += w.weight[w.order[i]];
  double below = scan(w, mine).before;
  for (int i = begin; i < end && i + 1 < count; ++i) {
    below += w.weight[w.order[i]];
    if (static_cast<float>(below / total) > 1.0F - top_p) break;
    w.weight[w.order[i]] = 0.0;  // no other thread reads it before the next barrier
  }
  sync();
}

__device__ inline int draw(const Workspace& w, int ids, double number) {
  const int thread = static_cast<int>(threadIdx.x);
  const int share = (ids + kThreads - 1) / kThreads;
  const int begin = min(thread * share, ids);
  const int end = min(begin + share, ids);
  double own = 0;
  int last = -1;
  for (int id = begin; id < end; ++id) {
    own += w.weight[id];
    if (w.weight[id] > 0.0) last = id;
  }
  const Scan sums = scan(w, own);
  if (thread == 0) {
    w.ints[0] = ids;  // the first whose sum passes the number
    w.ints[1] = 0;    // the last that can be, should rounding leave something over
  }
  sync();
  if (last >= 0) atomicMax(&w.ints[1], last);
  double sum = sums.before;
  const double aim = number * sums.total;
  for (int id = begin; id < end; ++id) {
    sum += w.weight[id];
    if (w.weight[id] > 0.0 && sum > aim) {
      atomicMin(&w.ints[0], id);
      break;
    }
  }
  sync();
  return w.ints[0] < ids ? w.ints[0] : w.ints[1];
}

// The next code, in every thread; by kThreads threads, the first of the block. w.logit holds the
// row's plain logits.
__device__ inline int pick_code(const Workspace& w, int ids, const std::uint8_t* seen,
                                const DeviceRow& row) {
  const SamplingRule& rule = row.rule;
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 5  // so that the bytes are asked for together
  for (int id = thread; id < ids; id += kThreads) {
    float logit = w.logit[id];
    if (__ldg(seen + id) != 0) {
      logit = logit < 0 ? logit * rule.repetition_penalty : logit / rule.repetition_penalty;
    }
    w.logit[id] = rule.greedy ? logit : logit / rule.temperature;
  }
  sync();
  const int best = likeliest(w, ids);
  if (rule.greedy) return best;
  const float largest = w.logit[best];
  const bool limited = rule.top_k > 0 && rule.top_k < ids;
  const std::uint32_t least = limited ? kth_largest(w, ids, rule.top_k) : 0U;
  double own = 0;
#pragma unroll 1
  for (int id = thread; id < ids; id += kThreads) {
    const float logit = w.logit[id];
    const bool kept = sortable(logit) >= least;
    w.weight[id] = kept ? exp(static_cast<double>(logit) - static_cast<double>(largest)) : 0.0;
    own += w.weight[id];
  }
  const double total = scan(w, own).total;
  if (rule.top_p < 1.0F) keep_top_p(w, ids, rule.top_p, total);
  return draw(w, ids, uniform(rule.seed, rule.stream, rule.first_draw + row.step));
}

// Chooses for row `index`, whose plain logits are in w.logit, and moves it on by one step.
__device__ inline void finish_step(const RowTables& tables, int index, const Workspace& w) {
  const int thread = static_cast<int>(threadIdx.x);
  const DeviceRow row = tables.rows[index];
  std::uint8_t* const seen = tables.seen + static_cast<std::int64_t>(index) * tables.ids;
  for (int id = thread; id < tables.ids; id += kThreads) {
    tables.logits[static_cast<std::int64_t>(index) * tables.ids + id] = w.logit[id];
  }
  sync();
  const int code = row.rule.by_caller ? 0 : pick_code(w, tables.ids, seen, row);
  if (thread != 0) return;
  DeviceRow& kept = tables.rows[index];
  kept.step = row.step + 1;
  if (row.rule.by_caller) return;
  kept.next = code;
  seen[code] = 1;
  const bool finished = code == tables.stop || row.step + 1 >= tables.most_codes;
  kept.finished = finished ? 1 : 0;
  tables.codes[static_cast<std::int64_t>(index) * tables.most_codes + row.step] = code;
  __threadfence_system();
  tables.host_rows[index].codes_and_end = HostRow::pack(row.step + 1, finished);
}

}  // namespace myxtts::sampling
