// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "audio/mel_spectrogram.h"
#include "config/model.h"
#include "model/layers.h"
#include "model/named_tensors.h"

namespace myxtts {

// Turns clips at 16,000 Hz into vectors of length one that tell voices apart. The front end uses
// the tables of the checkpoint.
//
// Frozen, batch normalisation uses its stored statistics, and any thread may call it. In training
// it uses those of the batch, and each call moves the stored ones a tenth of the way towards them,
// in place. Nothing waits for the device and no shape depends on data.
class SpeakerEncoder {
 public:
  enum class Mode { Frozen, Training };

  // Shares the tensors named `prefix` + the names of speaker_encoder_specs(). Frozen, later changes
  // of them are not seen everywhere, as convolutions and normalisations are folded into one where
  // nothing lies between.
  SpeakerEncoder(const SpeakerEncoderConfig& config, const NamedTensors& tensors,
                 const std::string& prefix = kSpeakerEncoderPrefix, Mode mode = Mode::Frozen);

  // [B, S] fp32 to [B, output_dim]; every row counts in its whole length.
  at::Tensor operator()(const at::Tensor& waveforms) const;

  // The same before it is scaled to length one.
  at::Tensor unscaled(const at::Tensor& waveforms) const;

 private:
  struct BatchNorm {
    at::Tensor weight, bias, mean, variance;  // [C]; undefined: it is folded into what is before it
    Mode mode = Mode::Frozen;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  // A convolution without bias and the normalisation of its output.
  struct NormedConv {
    ConvTensors conv;
    BatchNorm norm;
  };
  struct Block {
    std::int64_t stride;
    at::Tensor conv1;
    BatchNorm norm1;
    NormedConv conv2;
    ConvTensors squeeze, excite;
    NormedConv shortcut;  // undefined where the block keeps its shape
  };

  BatchNorm batch_norm(const TensorScope& tensors, const std::string& name) const;
  NormedConv normed_conv(const at::Tensor& weight, const BatchNorm& norm) const;
  Block block_from(const TensorScope& tensors, const std::string& name, bool downsamples) const;
  static at::Tensor run_block(const Block& block, const at::Tensor& x);
  at::Tensor features(const at::Tensor& waveforms) const;
  at::Tensor pooled(const at::Tensor& x) const;

  Mode mode_;
  MelSpectrogram mel_;
  at::Tensor preemphasis_;  // [1, 1, 2]
  ConvTensors first_;
  BatchNorm first_norm_;
  std::vector<Block> blocks_;
  ConvTensors attend_in_;
  BatchNorm attend_norm_;
  ConvTensors attend_out_;
  ConvTensors output_;
};

// The tables of a new encoder's front end, by their names relative to the network: the tensors that
// speaker_encoder_specs() marks as constant.
NamedTensors speaker_encoder_tables(const SpeakerEncoderConfig& config);

}  // namespace myxtts
