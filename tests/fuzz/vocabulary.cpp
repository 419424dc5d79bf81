// SPDX-License-Identifier: Apache-2.0
// vocab.json, and a text read with whatever vocabulary came of it.
#include "text/vocabulary.h"
#include "fuzz/fuzz_input.h"
#include "text/tokenizer.h"
#include "text/vocabulary_learning.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  const std::string_view json = fuzz::text_of(data, size);
  return fuzz::parse([&] {
    const Vocabulary vocabulary = Vocabulary::parse(json, "vocab.json");
    for (const TokenId id : Tokenizer(vocabulary).encode("[en]a[SPACE]bba, cab!")) {
      vocabulary.token(id);
    }
    vocabulary.languages();
    extend_vocabulary(json, "vocab.json", "fa", {"ab ba", "bab"}, 2);
  });
}
