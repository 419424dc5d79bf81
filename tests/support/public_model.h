// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "config/model.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "support/random_tensors.h"
#include "weights/pth.h"
#include "weights/safetensors.h"

namespace myxtts::test {

// A vocab.json of `ids` tokens, [STOP] 0 and [START] 3 among them.
inline std::string small_vocabulary(std::int64_t ids) {
  nlohmann::json tokens;
  nlohmann::json added = nlohmann::json::array();
  std::int64_t next = 0;
  for (const char* special : {"[STOP]", "[UNK]", "[SPACE]", "[START]", "[en]"}) {
    added.push_back({{"id", next},
                     {"content", special},
                     {"special", true},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false}});
    tokens[special] = next++;
  }
  while (next < ids) {
    tokens["t" + std::to_string(next)] = next;
    ++next;
  }
  return nlohmann::json({{"version", "1.0"},
                         {"added_tokens", added},
                         {"normalizer", nullptr},
                         {"pre_tokenizer", {{"type", "Whitespace"}}},
                         {"post_processor", nullptr},
                         {"model",
                          {{"type", "BPE"},
                           {"unk_token", "[UNK]"},
                           {"vocab", tokens},
                           {"merges", nlohmann::json::array()}}}})
      .dump();
}

// A model.pth as published.
inline void write_public_checkpoint(const std::filesystem::path& path, const TensorViews& tensors) {
  PthWriter writer(path);
  writer.open_dict();
  writer.key("config");
  writer.open_dict();
  writer.close_dict();
  writer.key("model");
  writer.dict(tensors);
  writer.close_dict();
  writer.commit();
}

// The sizes of a small model with such a vocabulary.
inline ModelConfig small_public_config(std::int64_t ids) {
  ModelConfig config = model_preset("tiny");
  config.gpt.text_ids = ids;
  config.gpt.start_text = 3;
  config.gpt.stop_text = 0;
  return config;
}

}  // namespace myxtts::test
