// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/dropout_cuda.cuh"
#include "kernels/ops/vectors.cuh"

namespace myxtts {
namespace {

using device::kVector;
using device::kWarp;

constexpr int kThreads = 128;
constexpr int kIdsOfBlock = 8;
constexpr int kAhead = 8;  // of ids, and of rows found, that a thread reads at a time
constexpr int kColumnsOfBlock = kThreads * kVector;

// Row `id` of several tables one after another; null where the table is.
template <typename T>
__device__ inline T* row_of(std::int64_t id, std::int64_t first_count, void* first,
                            std::int64_t second_count, void* second, void* third,
                            std::int64_t width) {
  void* table = first;
  if (id >= first_count) {
    id -= first_count;
    table = second;
    if (id >= second_count) {
      id -= second_count;
      table = third;
    }
  }
  return table == nullptr ? nullptr : static_cast<T*>(table) + id * width;
}

template <typename T>
__device__ inline T* token_row(const EmbeddingShape& shape, const EmbeddingTables& tables,
                               std::int64_t token) {
  return row_of<T>(token, shape.text_ids, tables.text, shape.code_ids, tables.codes, tables.latents,
                   shape.width);
}

// Of position 1 and beyond; position 0 is nowhere.
template <typename T>
__device__ inline T* position_row(const EmbeddingShape& shape, const EmbeddingTables& tables,
                                  std::int64_t position) {
  return row_of<T>(position - 1, shape.text_positions, tables.text_positions, shape.code_positions,
                   tables.code_positions, nullptr, shape.width);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    look_up(EmbeddingShape shape, EmbeddingTables tables, device::Dropout dropout, T* out,
            std::uint8_t* kept) {
  const std::int64_t row = blockIdx.x;
  const T* token = token_row<T>(shape, tables, shape.tokens[row]);
  const std::int64_t position = shape.positions[row];
  const T* place = position > 0 ? position_row<T>(shape, tables, position) : nullptr;
  for (std::int64_t column = threadIdx.x * kVector; column < shape.width;
       column += kColumnsOfBlock) {
    float numbers[kVector];
    device::load(token + column, numbers);
    if (place != nullptr) {
      float added[kVector];
      device::load(place + column, added);
#pragma unroll
      for (int i = 0; i < kVector; ++i) numbers[i] = device::rounded<T>(numbers[i] + added[i]);
    }
    const std::int64_t vector = (row * shape.width + column) / kVector;
    if (kept != nullptr) {
      kept[vector] = device::draw_kept(dropout, vector);
      device::keep(kept[vector], dropout.scale, numbers);
    }
    device::store(out + row * shape.width + column, numbers);
  }
}

// A latent has one token: its gradient is that row.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    give_to_latents(EmbeddingShape shape, const T* d_out, const std::uint8_t* kept, float scale,
                    T* d_latents) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t latent = shape.tokens[row] - shape.text_ids - shape.code_ids;
  if (latent < 0) return;
  for (std::int64_t column = threadIdx.x * kVector; column < shape.width;
       column += kColumnsOfBlock) {
    float numbers[kVector];
    device::load(d_out + row * shape.width + column, numbers);
    if (kept != nullptr) {
      device::keep(kept[(row * shape.width + column) / kVector], scale, numbers);
    }
    device::store(d_latents + latent * shape.width + column, numbers);
  }
}

// Note [Gradients of a table without sorting]
// A block owns some neighbouring ids and looks through all rows of the batch for them. The rows
// found among each kThreads are listed in their order, and added one after another to sums in
// shared memory, each thread its own columns. So there is no atomic addition, and the sums are the
// same each time.
template <typename T, typename IdOf, typename RowOf>
__device__ inline void add_up_ids(const EmbeddingShape& shape, const T* d_out,
                                  const std::uint8_t* kept, float scale, std::int64_t id_count,
                                  const IdOf& id_of, const RowOf& row_to_write) {
  __shared__ float sums[kIdsOfBlock][kColumnsOfBlock];
  __shared__ std::int32_t found_rows[kThreads];
  __shared__ std::int8_t found_ids[kThreads];
  __shared__ int found_in_warp[kThreads / kWarp];
  const std::int64_t first_id = static_cast<std::int64_t>(blockIdx.x) * kIdsOfBlock;
  const int mine = static_cast<int>(threadIdx.x) * kVector;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kColumnsOfBlock + mine;
  const bool in_width = column < shape.width;
  for (int id = 0; id < kIdsOfBlock; ++id) {
    for (int i = 0; i < kVector; ++i) sums[id][mine + i] = 0;
  }
  std::int64_t ids[kAhead];
  for (std::int64_t begin = 0, turn = 0; begin < shape.rows; begin += kThreads, ++turn) {
    const std::int64_t row = begin + threadIdx.x;
    if (turn % kAhead == 0) {  // asked for together, so that they wait for memory together
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const std::int64_t later = row + i * kThreads;
        ids[i] = later < shape.rows ? id_of(later) - first_id : -1;
      }
    }
    const std::int64_t id = ids[0];
#pragma unroll
    for (int i = 0; i + 1 < kAhead; ++i) ids[i] = ids[i + 1];
    const bool found = id >= 0 && id < kIdsOfBlock;
    if (__syncthreads_or(found ? 1 : 0) == 0) continue;
    const unsigned warp_found = __ballot_sync(0xffffffffU, found);
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (lane == 0) found_in_warp[warp] = __popc(warp_found);
    __syncthreads();
    int before = 0;
    int count = 0;
    for (int other = 0; other < kThreads / kWarp; ++other) {
      if (other < warp) before += found_in_warp[other];
      count += found_in_warp[other];
    }
    if (found) {
      const int place = before + __popc(warp_found & ((1U << lane) - 1U));
      found_rows[place] = static_cast<std::int32_t>(row);
      found_ids[place] = static_cast<std::int8_t>(id);
    }
    __syncthreads();
    for (int first = 0; in_width && first < count; first += kAhead) {
      device::Stored<T> held[kAhead];
      std::uint8_t masks[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {  // again asked for together
        if (first + i >= count) break;
        const std::int64_t place = found_rows[first + i] * shape.width + column;
        held[i].read(d_out, place);
        masks[i] = kept != nullptr ? kept[place / kVector] : std::uint8_t{0};
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (first + i >= count) break;
        float numbers[kVector];
        held[i].unpack(numbers);
        if (kept != nullptr) device::keep(masks[i], scale, numbers);
#pragma unroll
        for (int n = 0; n < kVector; ++n) sums[found_ids[first + i]][mine + n] += numbers[n];
      }
    }
  }
  for (int id = 0; in_width && id < kIdsOfBlock && first_id + id < id_count; ++id) {
    float numbers[kVector];
    for (int n = 0; n < kVector; ++n) numbers[n] = sums[id][mine + n];
    T* to = row_to_write(first_id + id);
    if (to != nullptr) device::store(to + column, numbers);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    give_to_tokens(EmbeddingShape shape, const T* d_out, const std::uint8_t* kept, float scale,
                   EmbeddingTables gradients) {
  add_up_ids(
      shape, d_out, kept, scale, shape.text_ids + shape.code_ids,
      [&](std::int64_t row) { return shape.tokens[row]; },
      [&](std::int64_t id) { return token_row<T>(shape, gradients, id); });
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    give_to_positions(EmbeddingShape shape, const T* d_out, const std::uint8_t* kept, float scale,
                      EmbeddingTables gradients) {
  add_up_ids(
      shape, d_out, kept, scale, shape.text_positions + shape.code_positions,
      [&](std::int64_t row) { return shape.positions[row] - 1; },
      [&](std::int64_t id) { return position_row<T>(shape, gradients, id + 1); });
}

dim3 blocks_for(std::int64_t ids, std::int64_t width) {
  return {static_cast<unsigned>((ids + kIdsOfBlock - 1) / kIdsOfBlock),
          static_cast<unsigned>((width + kColumnsOfBlock - 1) / kColumnsOfBlock)};
}

}  // namespace

void cuda::embedding_forward(const EmbeddingShape& shape, const EmbeddingTables& tables,
                             double dropout, void* out, std::uint8_t* kept) {
  const auto drop = device::make_dropout(kept != nullptr ? dropout : 0.0);
  device::with_number(shape.number, [&](auto number) {
    using T = decltype(number);
    look_up<T><<<static_cast<unsigned>(shape.rows), kThreads, 0, current_stream()>>>(
        shape, tables, drop, static_cast<T*>(out), kept);
  });
  check(cudaGetLastError(), "looking up embeddings");
}

void cuda::embedding_backward(const EmbeddingShape& shape, const void* d_out,
                              const std::uint8_t* kept, double dropout,
                              const EmbeddingTables& gradients) {
  const float scale = device::dropout_scale(device::dropout_threshold(dropout));
  const auto rows = static_cast<unsigned>(shape.rows);
  const cudaStream_t stream = current_stream();
  EmbeddingTables tables = gradients;
  tables.latents = nullptr;
  device::with_number(shape.number, [&](auto number) {
    using T = decltype(number);
    const T* slopes = static_cast<const T*>(d_out);
    if (gradients.latents != nullptr) {
      const auto bytes = static_cast<std::size_t>(shape.latent_rows * shape.width) * sizeof(T);
      check(cudaMemsetAsync(gradients.latents, 0, bytes, stream), "clearing gradients");
      give_to_latents<T><<<rows, kThreads, 0, stream>>>(shape, slopes, kept, scale,
                                                        static_cast<T*>(gradients.latents));
    }
    if (gradients.text != nullptr || gradients.codes != nullptr) {
      give_to_tokens<T>
          <<<blocks_for(shape.text_ids + shape.code_ids, shape.width), kThreads, 0, stream>>>(
              shape, slopes, kept, scale, tables);
    }
    if (gradients.text_positions != nullptr || gradients.code_positions != nullptr) {
      give_to_positions<T><<<blocks_for(shape.text_positions + shape.code_positions, shape.width),
                             kThreads, 0, stream>>>(shape, slopes, kept, scale, tables);
    }
  });
  check(cudaGetLastError(), "summing gradients of embeddings");
}

}  // namespace myxtts
