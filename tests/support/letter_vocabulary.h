// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "text/vocabulary.h"

namespace myxtts::test {

// English letter by letter: small letters, full stop and comma, and nothing else.
inline Vocabulary letter_vocabulary() {
  nlohmann::json vocab = {{"[STOP]", 0}, {"[UNK]", 1}, {"[SPACE]", 2}, {"[START]", 3}, {"[en]", 4}};
  int id = 5;
  for (const char letter : std::string("abcdefghijklmnopqrstuvwxyz.,")) {
    vocab[std::string(1, letter)] = id++;
  }
  const nlohmann::json file = {{"added_tokens",
                                {{{"id", 0}, {"content", "[STOP]"}},
                                 {{"id", 2}, {"content", "[SPACE]"}},
                                 {{"id", 4}, {"content", "[en]"}}}},
                               {"normalizer", nullptr},
                               {"pre_tokenizer", {{"type", "Whitespace"}}},
                               {"post_processor", nullptr},
                               {"model",
                                {{"type", "BPE"},
                                 {"unk_token", "[UNK]"},
                                 {"vocab", vocab},
                                 {"merges", nlohmann::json::array()}}}};
  return Vocabulary::parse(file.dump(), "letters.json");
}

}  // namespace myxtts::test
