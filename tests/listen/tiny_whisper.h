// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "listen/whisper_files.h"

namespace myxtts::test {

// The folder that tests/golden/make_whisper.py made: a tiny model in OpenAI's form, whose window is
// 2 s.
std::filesystem::path tiny_whisper();

// Its six clips of 2 s, [32000] each.
std::vector<at::Tensor> tiny_clips();

// A byte-level token as Hugging Face's and CTranslate2's files write it.
std::string in_byte_alphabet(const std::string& bytes);

// Every token of the tiny vocabulary by its number, special ones too, as those files write them.
std::vector<std::string> tiny_tokens(const WhisperFiles& files);

// The same model in the other forms, each with a vocabulary of its kind.
void write_hugging_face(const std::filesystem::path& folder, const WhisperFiles& files,
                        bool in_parts = false);
enum class Ct2Numbers { Float32, Float16, Int8 };
void write_ctranslate2(const std::filesystem::path& folder, const WhisperFiles& files,
                       Ct2Numbers numbers);

}  // namespace myxtts::test
