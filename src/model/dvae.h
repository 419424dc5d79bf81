// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/named_tensors.h"

namespace myxtts {

// The discrete autoencoder: mel frames to codes, four frames to a code, and codes back to frames.
//
//   mel [B, bands, F] ─encode─▶ z [B, dim, ceil(F/4)] ─quantise─▶ codes [B, n] ─decode─▶ mel [B,
//   bands, 4n]
//
// Always in fp32, also while TF32 is on elsewhere: less would flip codes. Only convolutions whose
// gradient is wanted follow the arithmetic of the process. Any thread may call it; nothing waits
// for the device and no shape depends on data.
class Dvae {
 public:
  // Shares the tensors named `prefix` + the names of dvae_specs().
  Dvae(const DvaeConfig& config, const NamedTensors& tensors, const std::string& prefix = "");

  at::Tensor encode(const at::Tensor& mel) const;

  // For rows padded to one length: row b has frames[b] frames (int64, on the device of the mel) and
  // gets the z it would get alone; what stands behind its ceil(frames[b] / 4) is zero.
  at::Tensor encode(const at::Tensor& mel, const at::Tensor& frames) const;

  // For rows that hold several clips one after another: `mask` [B, 1, F] is 1 on their frames and 0
  // elsewhere. Each clip begins at a multiple of four frames, with at least four of mask 0 before
  // the next one, and gets the z it would get alone.
  at::Tensor encode_packed(const at::Tensor& mel, const at::Tensor& mask) const;

  // The nearest entry of the codebook for every z, int64; the first of equally near ones.
  at::Tensor quantise(const at::Tensor& z) const;

  // The codebook's entries [B, dim, n] of codes [B, n].
  at::Tensor look_up(const at::Tensor& codes) const;

  // Mel frames of codebook entries, or of z itself, [B, dim, n].
  at::Tensor decode(const at::Tensor& entries) const;

  // quantise() and look_up() with another codebook [dim, codes].
  static at::Tensor nearest(const at::Tensor& z, const at::Tensor& embed);
  static at::Tensor entries_of(const at::Tensor& codes, const at::Tensor& embed);

  static std::int64_t code_count(std::int64_t frames) { return (frames + 3) / 4; }

 private:
  using Block = std::array<ConvTensors, 3>;
  using Mask = at::Tensor;  // [B, 1, F] of 1 and 0; undefined when every frame counts

  static std::vector<Block> blocks_from(const TensorScope& tensors, const std::string& side,
                                        std::int64_t first, std::int64_t count);
  static at::Tensor run_block(const Block& block, const at::Tensor& x, const Mask& mask);
  at::Tensor encode_masked(const at::Tensor& mel, const std::array<Mask, 3>& masks) const;

  ConvTensors first_;
  ConvTensors second_;
  std::vector<Block> encoder_blocks_;
  ConvTensors to_codebook_;
  at::Tensor embed_;  // [dim, codes]

  ConvTensors from_codebook_;
  std::vector<Block> decoder_blocks_;
  std::array<ConvTensors, 2> upsamplers_;
  ConvTensors to_mel_;
};

}  // namespace myxtts
