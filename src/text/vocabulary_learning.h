// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "text/language.h"

namespace myxtts {

// What a vocabulary is learnt from: clean sentences, by language.
using SentencesByLanguage = std::map<Language, std::vector<std::string>>;

// A vocab.json for a model that starts from nothing: [STOP], [UNK], [SPACE] and [START], the tag of
// each language, every letter of the sentences, and then at most `pieces` tokens of several
// letters, the most frequent pair first. A function of its arguments alone, whatever order the
// sentences have.
std::string learn_vocabulary(const SentencesByLanguage& sentences, std::size_t pieces);

}  // namespace myxtts
