// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "listen/whisper_files.h"
#include "model/named_tensors.h"

namespace myxtts {

inline constexpr std::int64_t kWhisperRate = 16'000;  // samples a second
inline constexpr std::int64_t kWhisperHop = 160;      // samples of a frame
inline constexpr std::int64_t kFramesOfPlace = 2;     // frames of a place of the encoder

// The log-mel spectrograms that Whisper hears, equal to those of OpenAI's program. Any thread.
class WhisperMel {
 public:
  WhisperMel(std::int64_t bands, c10::Device device);

  // [B, S] fp32 at 16,000 Hz to [B, bands, S / 160]; each row by its own loudest place. S is a
  // multiple of 160.
  at::Tensor operator()(const at::Tensor& waveforms) const;

 private:
  MelSpectrogram power_;
};

// The Whisper network: mel spectrograms in, scores of tokens out. It computes where `device` says,
// in `type` (fp32 or bf16), without gradients; any thread. Copies the weights unless they are there
// in that type already.
class Whisper {
 public:
  Whisper(const WhisperSizes& sizes, const NamedTensors& tensors, c10::Device device,
          at::ScalarType type = at::kFloat);

  // What was read so far of a batch of texts, for the next tokens.
  struct Reading {
    std::int64_t length = 0;  // tokens of each text
    // Keys and values of each layer of the decoder:
    std::vector<at::Tensor> own;    // [2, B, heads, text_context, width / heads], `length` of it
    std::vector<at::Tensor> sound;  // [2, B, heads, audio_context, width / heads]

    // Of these texts alone, in this order; int64 on the device.
    void keep(const at::Tensor& rows);
  };

  // [B, bands, 2 · audio_context] fp32 to [B, audio_context, width]. Undefined once `wanted`, which
  // is asked before each layer, says no.
  at::Tensor encode(const at::Tensor& mel, const std::function<bool()>& wanted = {}) const;

  Reading begin(const at::Tensor& encoded) const;

  // What some heads of the decoder attend to in the sound.
  struct Attention {
    std::vector<WhisperHead> heads;        // whose is wanted
    std::vector<at::Tensor> weights = {};  // by layers: [B, heads of the layer, T, audio_context]
  };

  // Reads tokens [B, T] int64 and gives the states behind each [B, T, width]. Adds to `attention`,
  // where there is one, in fp32.
  at::Tensor read(Reading& reading, const at::Tensor& tokens, Attention* attention = nullptr) const;

  // States [..., width] to the scores of the next token [..., tokens] fp32.
  at::Tensor scores(const at::Tensor& states) const;

  const WhisperSizes& sizes() const { return sizes_; }
  c10::Device device() const { return device_; }

 private:
  struct Linear {
    at::Tensor weight, bias;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Norm {
    at::Tensor weight, bias;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Block {
    Norm attend_norm;
    Linear qkv, attend_out;
    Norm sound_norm;  // of the decoder alone, as the next two lines
    Linear sound_query, sound_keys_values, sound_out;
    Norm mlp_norm;
    Linear mlp_in, mlp_out;
  };

  Block block_from(const TensorScope& tensors, bool reads_sound) const;
  at::Tensor placed(const at::Tensor& tensor) const;
  at::Tensor feed_forward(const Block& block, const at::Tensor& x) const;
  at::Tensor attend_to_sound(std::size_t layer, const at::Tensor& x, const at::Tensor& sound,
                             Attention* attention) const;

  WhisperSizes sizes_;
  c10::Device device_;
  at::ScalarType type_;
  at::Tensor conv1_, conv1_bias_, conv2_, conv2_bias_;
  at::Tensor sound_places_;  // [audio_context, width]
  at::Tensor text_places_;   // [text_context, width]
  at::Tensor embedding_;     // [tokens, width]
  std::vector<Block> encoder_, decoder_;
  Norm encoder_norm_, decoder_norm_;
};

}  // namespace myxtts
