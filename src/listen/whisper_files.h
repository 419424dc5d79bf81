// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "listen/whisper_vocabulary.h"
#include "model/named_tensors.h"

namespace myxtts {

// The sizes of a Whisper network.
struct WhisperSizes {
  std::int64_t bands = 80;            // of the mel spectrogram
  std::int64_t audio_context = 1500;  // places that the encoder gives, each of two frames
  std::int64_t width = 512;
  std::int64_t audio_heads = 8;
  std::int64_t audio_layers = 6;
  std::int64_t tokens = 51865;
  std::int64_t text_context = 448;  // tokens that the decoder reads at most
  std::int64_t text_heads = 8;
  std::int64_t text_layers = 6;

  friend bool operator==(const WhisperSizes&, const WhisperSizes&) = default;
};

// A layer of the decoder and one of its heads.
using WhisperHead = std::pair<std::int64_t, std::int64_t>;

// A whole Whisper model as files hold it.
struct WhisperFiles {
  std::filesystem::path file;  // with the weights, for messages
  WhisperSizes sizes;
  // On the CPU, in any floating type, under the names of OpenAI's state dict:
  // encoder.blocks.0.attn.query.weight ...
  NamedTensors tensors;
  WhisperVocabulary vocabulary;
  // Those whose attention follows the sound, for the times of words; empty: the files do not say.
  std::vector<WhisperHead> following_heads;
};

// Opens a model in whichever of three forms it is found:
//
//   OpenAI          base.pt: sizes and a state dict
//   Hugging Face    a folder with config.json and model.safetensors, or its parts and their index
//   faster-whisper  a folder with CTranslate2's model.bin; float32, float16, or int8 with scales
//
// `path` is the folder or the file itself; the vocabulary lies beside it. Executes nothing and
// changes nothing. Every tensor has the shape that the sizes ask for, and finite numbers. Throws
// DataError.
WhisperFiles open_whisper(const std::filesystem::path& path);

}  // namespace myxtts
