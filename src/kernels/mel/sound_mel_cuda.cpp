// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/mel/sound_mel_kernels.cuh"

namespace myxtts {

void cuda::sound_mel(const SoundMelView& tables, const SoundMelShape& shape,
                     std::span<const SoundPiece> pieces, float* out, const Stream& stream) {
  MYXTTS_CHECK(shape.bands <= kSoundBands && shape.samples > kSoundWindow,
               "spectrograms of {} bands and {} samples", shape.bands, shape.samples);
  const DeviceScope on(stream.gpu);
  while (!pieces.empty()) {
    const auto count = std::min(pieces.size(), static_cast<std::size_t>(kSoundRows));
    SoundRows rows = {};
    for (std::size_t i = 0; i < count; ++i) {
      MYXTTS_CHECK(pieces[i].count <= shape.samples, "{} samples are more than the {} of a row",
                   pieces[i].count, shape.samples);
      rows.rows[i] = {.samples = pieces[i].samples,
                      .count = static_cast<int>(pieces[i].count),
                      .length = static_cast<int>(shape.samples)};
    }
    check(launch_sound_mel(tables, shape, rows, static_cast<int>(count), out,
                           static_cast<cudaStream_t>(stream.native)),
          fmt::format("computing spectrograms on GPU {}", stream.gpu));
    out += static_cast<std::int64_t>(count) * shape.bands * shape.frames();
    pieces = pieces.subspan(count);
  }
}

}  // namespace myxtts
