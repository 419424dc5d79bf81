// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts {

// What the kernel is written for; see sound_mel_steps.cuh.
inline constexpr int kSoundFft = 2048;     // samples
inline constexpr int kSoundWindow = 1024;  // samples that the window does not hide
inline constexpr int kSoundThreads = 256;  // that work on one frame

}  // namespace myxtts
