// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace myxtts {

// The tokens of a Whisper model: byte-level pairs below end_of_text, what steers the decoder from
// there on, and at the end the times <|0.00|> to <|30.00|> in steps of 0.02 s.
//
// Its sources all list the same tokens: tokenizer.json, vocab.json (with added_tokens.json) and
// vocabulary.json or .txt in Hugging Face's and CTranslate2's folders, multilingual.tiktoken or
// gpt2.tiktoken in OpenAI's Python package. Pairs merge in the order of their numbers, so that no
// list of merges is needed. Immutable; any thread.
class WhisperVocabulary {
 public:
  // Finds one of those files in `folder` for a model of `tokens` tokens. Throws DataError: there is
  // none (`model` opens the sentence, which names them), or it is not that of such a model.
  static WhisperVocabulary find(const std::filesystem::path& folder, std::int64_t tokens,
                                const std::string& model);

  std::int64_t size() const { return size_; }
  bool is_multilingual() const { return is_multilingual_; }

  // The number of the language's token; -1: the model knows no such language.
  std::int64_t language(std::string_view code) const;
  const std::map<std::string, std::int64_t, std::less<>>& languages() const { return languages_; }

  // What is said in tokens; times and everything else that is not text is left out. Valid UTF-8.
  std::string text_of(std::span<const std::int64_t> tokens) const;

  // The tokens of a text.
  std::vector<std::int64_t> encode(std::string_view utf8) const;

  // What a transcript never holds, ascending: brackets, notes and other signs that are not spoken,
  // and what steers.
  const std::vector<std::int64_t>& never_said() const { return never_said_; }

  std::int64_t end_of_text = 0;
  std::int64_t start = 0;
  std::int64_t translate = 0;
  std::int64_t transcribe = 0;
  std::int64_t start_of_lm = 0;
  std::int64_t start_of_previous = 0;
  std::int64_t no_speech = 0;
  std::int64_t no_times = 0;
  std::int64_t first_time = 0;
  std::int64_t space = 0;  // a single blank

 private:
  using Specials = std::map<std::string, std::int64_t, std::less<>>;  // "<|en|>"

  WhisperVocabulary() = default;
  static WhisperVocabulary read(const std::filesystem::path& file, std::int64_t tokens);
  void number_specials(const Specials& named, const std::string& subject);
  void find_never_said();
  void encode_word(std::string_view word, std::vector<std::int64_t>& tokens) const;

  std::int64_t size_ = 0;
  bool is_multilingual_ = true;
  std::vector<std::string> bytes_;  // of each token below end_of_text
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::map<std::string, std::int64_t, std::less<>> languages_;
  std::vector<std::int64_t> never_said_;
};

}  // namespace myxtts
