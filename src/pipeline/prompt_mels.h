// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "device/stream.h"

namespace myxtts {

// Makes what the conditioning encoder takes out of prompts, on the data device. A row depends on
// its own prompt alone. On a GPU it is one kernel; elsewhere the plain expression that the kernel
// is measured against.
//
// One thread at a time. Nothing waits for the device.
class PromptMels {
 public:
  static constexpr std::int64_t kSamples = 132'300;  // what prompts are padded to: six seconds

  // `mel_stats` [bands] is on `device`.
  PromptMels(const at::Tensor& mel_stats, c10::Device device);
  ~PromptMels();

  // From prompts [S] int16 at 22,050 Hz, S <= kSamples, to out [B, bands, frames()]; the rows
  // behind the last prompt become silence. `stream` is the one that LibTorch computes on now.
  void make(std::span<const at::Tensor> prompts, at::Tensor& out, const Stream& stream) const;

  // The same on any device, operation by operation.
  void make_reference(std::span<const at::Tensor> prompts, at::Tensor& out) const;

  std::int64_t bands() const { return mel_stats_.size(0); }
  std::int64_t frames() const { return spectrogram_.frame_count(kSamples); }

 private:
  struct Kernel;

  const at::Tensor mel_stats_;  // [bands]
  const MelSpectrogram spectrogram_;
  std::unique_ptr<const Kernel> kernel_;  // none on the CPU
};

}  // namespace myxtts
