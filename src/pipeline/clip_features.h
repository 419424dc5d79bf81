// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "data/clip.h"
#include "device/stream.h"
#include "model/dvae.h"

namespace myxtts {

// One clip as it was decoded, on the data device.
struct ClipSound {
  at::Tensor samples;  // [S] int16 at `rate`
  std::int64_t rate = 0;
  ClipNumber number = 0;
};

// Brings clips of any rate to the rates that networks take, on one device. One thread at a time.
class ClipResampler {
 public:
  explicit ClipResampler(c10::Device device) : device_(device) {}

  // [S] fp32 within ±1 at `rate`.
  at::Tensor operator()(const ClipSound& clip, std::int64_t rate);

  // [S] fp32 at `from` to [S'] at `to`.
  at::Tensor resampled(const at::Tensor& wave, std::int64_t from, std::int64_t to);

 private:
  c10::Device device_;
  std::map<std::pair<std::int64_t, std::int64_t>, Resampler> resamplers_;  // by both rates
};

// What is made of a clip once and can be kept.
struct EncodedClip {
  at::Tensor samples;  // [S] int16 at 22,050 Hz: what prompts are cut from
  at::Tensor codes;    // [ceil(S / 1024)] int64; undefined where they are not wanted
  at::Tensor wave;     // [S] fp32 within ±1 at 22,050 Hz; this one is not kept
};

// Turns sound into what the networks take, on the data device: resampling, mel spectrograms, DVAE
// codes, all in full fp32.
//
// Note [A clip's company]
// A clip's codes do not depend on the clips that were encoded with it, so what a cache holds equals
// what a run would compute. The DVAE only looks a few frames to each side; so clips are laid one
// after another into rows of one fixed length, with silence masked to zero between them:
//
//   row [F frames]:  [clip 0 ....][gap][clip 1 ..][gap][clip 2 .......][rest]
//
// Every kernel then sees the same shapes whatever the clips are, and no sum reaches from one clip
// into the next. On the CPU each clip is a row of its own length: small batches would pay for rows
// that are mostly empty. Memory is bounded by one row.
//
// One thread at a time. Nothing waits for the device; shapes follow from lengths known to the host.
class ClipFeatures {
 public:
  static constexpr std::int64_t kRate = 22'050;

  // Frames of a row; 0: each clip is a row of its own length.
  static std::int64_t usual_row(c10::Device device) { return device.is_cuda() ? 4096 : 0; }

  // `dvae` and `mel_stats` [bands] are on `device`; the DVAE outlives this.
  ClipFeatures(const Dvae& dvae, const at::Tensor& mel_stats, c10::Device device)
      : ClipFeatures(dvae, mel_stats, device, usual_row(device)) {}
  ClipFeatures(const Dvae& dvae, const at::Tensor& mel_stats, c10::Device device,
               std::int64_t row_frames);

  // The same number of results, in order. A clip has at least 513 samples at 22,050 Hz.
  std::vector<EncodedClip> encode(std::span<const ClipSound> clips);

  // The same without codes.
  std::vector<EncodedClip> load(std::span<const ClipSound> clips);

  static std::int64_t code_count(std::int64_t samples) { return (samples + 1023) / 1024; }

 private:
  struct Row;

  std::vector<Row> lay_out(std::span<const EncodedClip> clips) const;
  at::Tensor row_codes(const Row& row, std::span<const EncodedClip> clips) const;

  const Dvae& dvae_;
  at::Tensor mel_stats_;  // [bands]
  c10::Device device_;
  std::int64_t row_frames_;
  MelSpectrogram dvae_spectrogram_;
  ClipResampler resampler_;
};

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
