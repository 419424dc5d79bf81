// SPDX-License-Identifier: Apache-2.0
#include "kernels/mel/sound_mel_kernels.cuh"

namespace myxtts {
namespace {

using sound_mel::Complex;
using sound_mel::Four;
using sound_mel::Row;

constexpr int kFrames = 8;  // of a block: what it writes is then whole sectors
constexpr int kWarp = 32;
constexpr int kBins = sound_mel::kPoints + 1;
constexpr float kLogFloor = 1e-5F;

struct Shared {
  Complex points[sound_mel::kPoints];
  float powers[kBins];
  float mel[kSoundBands * kFrames];
};

// The powers of one frame, in shared memory.
__device__ void transform(const Row& row, const SoundMelView& tables, int first, Shared& shared) {
  const int lane = static_cast<int>(threadIdx.x);
  const auto* roots = reinterpret_cast<const Complex*>(tables.roots);
  sound_mel::store(shared.points, sound_mel::first_numbers(row, tables.window, first, lane), 1,
                   lane);
  for (int done = 4; done < sound_mel::kPoints; done *= 4) {
    __syncthreads();
    const Four numbers = sound_mel::next_numbers(shared.points, roots, done, lane);
    __syncthreads();
    sound_mel::store(shared.points, numbers, done, lane);
  }
  __syncthreads();
  for (int bin = lane; bin < kBins; bin += kSoundThreads) {
    shared.powers[bin] = sound_mel::power(shared.points, roots, bin);
  }
  __syncthreads();
}

// A warp for each band: which of the lanes adds what never changes, so neither do the bits.
__device__ void sum_bands(const SoundMelView& tables, int bands, int frame, Shared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int band = static_cast<int>(threadIdx.x) / kWarp; band < bands;
       band += kSoundThreads / kWarp) {
    const int begin = tables.band_starts[band];
    const int count = tables.band_starts[band + 1] - begin;
    const float* powers = shared.powers + tables.band_bins[band];
    float sum = 0;
    for (int i = lane; i < count; i += kWarp) sum += tables.weights[begin + i] * powers[i];
    for (int reach = kWarp / 2; reach > 0; reach /= 2) {
      sum += __shfl_down_sync(0xFFFFFFFFU, sum, static_cast<unsigned>(reach));
    }
    if (lane == 0) shared.mel[band * kFrames + frame] = sum;
  }
}

__global__ void __launch_bounds__(kSoundThreads)
    sound_mel_kernel(SoundMelView tables, SoundRows rows, int hop, int bands, int frames,
                     float* out) {
  __shared__ Shared shared;
  const Row& row = rows.rows[blockIdx.y];
  const int first_frame = static_cast<int>(blockIdx.x) * kFrames;
  for (int frame = 0; frame < kFrames && first_frame + frame < frames; ++frame) {
    const int first = (first_frame + frame) * hop - kSoundWindow / 2;
    if (sound_mel::is_silent(row, first)) {
      for (int band = static_cast<int>(threadIdx.x); band < bands; band += kSoundThreads) {
        shared.mel[band * kFrames + frame] = 0;
      }
    } else {
      transform(row, tables, first, shared);
      sum_bands(tables, bands, frame, shared);
    }
  }
  __syncthreads();
  const int here = min(kFrames, frames - first_frame);
  for (int i = static_cast<int>(threadIdx.x); i < bands * kFrames; i += kSoundThreads) {
    const int band = i / kFrames;
    const int frame = i % kFrames;
    if (frame >= here) continue;
    const auto place =
        (static_cast<std::int64_t>(blockIdx.y) * bands + band) * frames + first_frame + frame;
    out[place] = logf(fmaxf(shared.mel[i], kLogFloor)) / tables.mel_stats[band];
  }
}

}  // namespace

cudaError_t launch_sound_mel(const SoundMelView& tables, const SoundMelShape& shape,
                             const SoundRows& rows, int count, float* out, cudaStream_t stream) {
  const auto frames = static_cast<int>(shape.frames());
  const dim3 grid(static_cast<unsigned>((frames + kFrames - 1) / kFrames),
                  static_cast<unsigned>(count));
  sound_mel_kernel<<<grid, kSoundThreads, 0, stream>>>(tables, rows, static_cast<int>(shape.hop),
                                                       static_cast<int>(shape.bands), frames, out);
  return cudaGetLastError();
}

}  // namespace myxtts
