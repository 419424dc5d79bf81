// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace myxtts {

// The sizes of the three convolutional networks. The defaults are the public XTTS v2 shapes, the
// only ones the Python peer can hold; `tiny` and `small` scale them.

// The discrete autoencoder that turns mel frames into codes, four frames to a code.
struct DvaeConfig {
  std::int64_t mel_bands = 80;
  std::int64_t hidden = 512;     // channels after the first convolution
  std::int64_t channels = 1024;  // channels after the second one, and of the residual blocks
  std::int64_t codebook_dim = 512;
  std::int64_t codes = 1024;  // entries of the codebook
  std::int64_t blocks = 3;    // residual blocks on each side

  bool operator==(const DvaeConfig&) const = default;
};

// The HiFi-GAN generator that turns GPT latents and a speaker vector into a waveform.
struct DecoderConfig {
  std::int64_t input_dim = 1024;  // width of a GPT latent
  std::int64_t speaker_dim = 512;
  std::int64_t initial_channels = 512;                      // halved by every upsampling stage
  std::vector<std::int64_t> upsample_rates = {8, 8, 2, 2};  // their product is output_hop
  std::vector<std::int64_t> upsample_kernels = {16, 16, 4, 4};
  std::vector<std::int64_t> resblock_kernels = {3, 7, 11};
  std::vector<std::int64_t> resblock_dilations = {1, 3, 5};
  std::int64_t input_sample_rate = 22050;  // of the audio the codes stand for
  std::int64_t output_sample_rate = 24000;
  std::int64_t output_hop = 256;    // output samples of one decoder frame
  std::int64_t code_stride = 1024;  // input samples of one code

  bool operator==(const DecoderConfig&) const = default;
};

// The squeeze-and-excitation ResNet that turns a clip into a speaker vector.
struct SpeakerEncoderConfig {
  std::int64_t mel_bands = 64;
  std::vector<std::int64_t> layers = {3, 4, 6, 3};  // residual blocks of the four layers
  std::vector<std::int64_t> filters = {32, 64, 128, 256};
  std::int64_t se_reduction = 8;
  std::int64_t attention_dim = 128;
  std::int64_t output_dim = 512;
  std::int64_t sample_rate = 16000;
  std::int64_t fft_size = 512;
  std::int64_t window = 400;  // samples
  std::int64_t hop = 160;     // samples
  double preemphasis = 0.97;

  bool operator==(const SpeakerEncoderConfig&) const = default;
};

}  // namespace myxtts
