// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "text/language.h"

namespace myxtts {

// What a vocabulary is learnt from: clean sentences, by language.
using SentencesByLanguage = std::map<Language, std::vector<std::string>>;

// Which tokens of several letters a vocabulary gets.
struct PieceRule {
  std::size_t most = 500;
  // How often a piece must stand in the sentences. Each is a row of an embedding that learns only
  // from the places where it stands, and takes those places from the letters it is made of; an hour
  // of speech, about 50,000 letters, is better read letter by letter.
  std::int64_t least_seen = 2000;
};

// A vocab.json for a model that starts from nothing: [STOP], [UNK], [SPACE] and [START], the tag of
// each language, every letter of the sentences, and then tokens of several letters by the rule, the
// most frequent pair first. A function of its arguments alone, whatever order the sentences have.
std::string learn_vocabulary(const SentencesByLanguage& sentences, const PieceRule& rule = {});

}  // namespace myxtts
