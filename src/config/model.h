// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace myxtts {

enum class WindowKind { Hann, Hamming };

// What a mel spectrogram is made with. The window is periodic and shorter windows stand in the
// middle of the FFT; frames are centred and the signal is reflected at both ends.
struct MelConfig {
  std::int64_t sample_rate = 22050;
  std::int64_t fft_size = 1024;
  std::int64_t window = 1024;  // samples
  std::int64_t hop = 256;      // samples
  std::int64_t bands = 80;
  double low_hz = 0.0;
  double high_hz = 8000.0;
  WindowKind window_kind = WindowKind::Hann;
  bool area_normalised = true;  // each band divided by half its width in Hz (Slaney)

  bool operator==(const MelConfig&) const = default;
};

// What the DVAE turns into codes.
inline MelConfig dvae_mel_config() {
  return {};
}

// What the GPT is conditioned on.
inline MelConfig conditioning_mel_config() {
  return {.fft_size = 2048};
}

// The sizes of the three convolutional networks. The defaults are the public XTTS v2 shapes, the
// only ones coqui-tts can hold; `tiny` and `small` scale them.

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

// The sizes of the GPT with its conditioning. The defaults are the public XTTS v2.
struct GptConfig {
  std::int64_t layers = 30;
  std::int64_t width = 1024;
  std::int64_t heads = 16;

  std::int64_t text_ids = 6681;  // rows of the text embedding: the largest id of the vocabulary + 1
  std::int64_t start_text = 261;
  std::int64_t stop_text = 0;
  std::int64_t audio_ids = 1026;  // the DVAE's codes, start and stop
  std::int64_t start_audio = 1024;
  std::int64_t stop_audio = 1025;

  std::int64_t max_text_tokens = 402;
  std::int64_t max_audio_tokens = 605;
  std::int64_t max_prompt_tokens = 70;
  std::int64_t code_stride = 1024;  // samples that one code stands for

  // coqui-tts fixes these; every preset keeps them, so that it can hold our GPT.
  std::int64_t mel_bands = 80;
  std::int64_t conditioning_blocks = 6;
  std::int64_t perceiver_latents = 32;
  std::int64_t perceiver_depth = 2;
  std::int64_t perceiver_heads = 8;
  std::int64_t perceiver_head_width = 64;

  bool operator==(const GptConfig&) const = default;

  std::int64_t head_width() const { return width / heads; }
  std::int64_t perceiver_width() const { return perceiver_heads * perceiver_head_width; }
  std::int64_t text_positions() const { return max_text_tokens + 2; }
  std::int64_t audio_positions() const { return max_audio_tokens + 3; }
};

// A whole model: what config.json of a model directory says about shapes.
struct ModelConfig {
  GptConfig gpt;
  DvaeConfig dvae;
  DecoderConfig decoder;
  SpeakerEncoderConfig speaker_encoder;

  bool operator==(const ModelConfig&) const = default;
};

// The files of a model folder that hold tensors.
namespace files {
inline constexpr const char* kModel = "model.safetensors";
inline constexpr const char* kDvae = "dvae.safetensors";
}  // namespace files

// What the names of a network's tensors in the model's file begin with.
inline constexpr const char* kGptPrefix = "gpt.";
inline constexpr const char* kDecoderPrefix = "hifigan_decoder.waveform_decoder.";
inline constexpr const char* kSpeakerEncoderPrefix = "hifigan_decoder.speaker_encoder.";

// The names of the presets, smallest first.
const std::vector<std::string_view>& model_preset_names();

// The sizes called `name`. Throws ConfigError, which lists the names, if there are none.
ModelConfig model_preset(std::string_view name);

// Throws ConfigError naming the first field that no network could be built with, its value and what
// is allowed.
void validate(const ModelConfig& config);

}  // namespace myxtts
