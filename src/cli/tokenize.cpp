// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "text/sentences.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

struct TokenizeOptions {
  std::string language;
  std::string vocabulary;
  std::string model;
  bool split = false;
  bool strict = false;
};

using Json = nlohmann::ordered_json;

// Writes one line of JSON, at once: whoever reads the other end may be waiting for it.
void print_json(const Json& object) {
  const std::string line = object.dump() + '\n';
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0) {
    throw DataError(
        "Standard output cannot be written. Check the disk or the program that reads it.");
  }
}

void check_utf8(std::string_view line, std::size_t number) {
  if (const auto at = first_invalid_utf8(line)) {
    throw DataError(
        fmt::format("Line {} is not UTF-8 at byte {}. Convert the text (iconv -t UTF-8), or leave "
                    "out --strict to have "
                    "such bytes replaced.",
                    number, *at + 1));
  }
}

// Reads lines from standard input; for each, `handle(line, number)` gets it without its end.
template <typename Handle>
void for_each_line(Handle handle) {
  if (::isatty(STDIN_FILENO) != 0) {
    log_info("tokenize", "type a text on each line, and Ctrl-D at the end");
  }
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) handle(line, number);
}

// Names the signs that the vocabulary does not know, each where it comes first.
class UnknownSigns {
 public:
  explicit UnknownSigns(const TextEncoder& encoder) : encoder_(encoder) {}

  void look_at(const EncodedText& text, std::size_t number) {
    const auto signs = new_signs_in(text.clean);
    if (encoder_.is_unknown(text)) {
      log_warning("tokenize",
                  "line {} has nothing that the vocabulary knows{}; is it in the right language?",
                  number, signs.empty() ? "" : ", first " + describe_signs(signs));
    } else if (!signs.empty()) {
      log_warning("tokenize", "line {}: the vocabulary does not know {}", number,
                  describe_signs(signs));
    }
  }

 private:
  std::vector<char32_t> new_signs_in(const std::string& clean) {
    auto signs = encoder_.unknown_signs(clean);
    std::erase_if(signs, [this](char32_t sign) { return !seen_.insert(sign).second; });
    return signs;
  }

  const TextEncoder& encoder_;
  std::set<char32_t> seen_;
};

Json encoded_line(const EncodedText& text, const Vocabulary& vocabulary) {
  Json pieces = Json::array();
  for (const TokenId id : text.ids) pieces.push_back(vocabulary.token(id));
  return {{"clean", text.clean}, {"ids", text.ids}, {"pieces", std::move(pieces)}};
}

// Of --vocab, or of --model, which may be any folder with one, the public one too.
std::filesystem::path vocabulary_of(const TokenizeOptions& options) {
  if (options.model.empty()) return options.vocabulary;
  const std::filesystem::path own = std::filesystem::path(options.model) / files::kVocabulary;
  return std::filesystem::exists(own) ? own
                                      : find_model("--model", options.model) / files::kVocabulary;
}

int tokenize(const TokenizeOptions& options) {
  std::ios::sync_with_stdio(false);
  const Language language = parse_language(options.language);
  const std::filesystem::path file = vocabulary_of(options);
  if (file.empty() && !options.split) {
    throw ConfigError(
        "tokenize needs a vocabulary. Give --vocab FILE, or --model DIR for the one of a model.");
  }
  std::size_t replaced = 0;
  const auto repair = [&](const std::string& line, std::size_t number) {
    if (options.strict) check_utf8(line, number);
    return repair_utf8(line, &replaced);
  };
  if (options.split) {
    for_each_line([&](const std::string& line, std::size_t number) {
      print_json({{"splits", split_text(repair(line, number), language)}});
    });
  } else {
    const Vocabulary vocabulary = Vocabulary::load(file);
    const TextEncoder encoder(vocabulary, language);
    UnknownSigns unknown(encoder);
    for_each_line([&](const std::string& line, std::size_t number) {
      const std::string text = repair(line, number);
      if (count_code_points(text) > length_limit(language)) {
        log_warning("tokenize",
                    "line {} is longer than {} characters and may be cut short when spoken", number,
                    length_limit(language));
      }
      const EncodedText encoded = encoder.encode(text);
      unknown.look_at(encoded, number);
      print_json(encoded_line(encoded, vocabulary));
    });
  }
  if (replaced > 0) {
    log_warning("tokenize", "{} became U+FFFD; --strict makes them errors",
                counted(static_cast<std::int64_t>(replaced), "invalid UTF-8 sequence"));
  }
  return 0;
}

}  // namespace

Command tokenize_command() {
  return {
      .name = "tokenize",
      .group = "Text",
      .summary = "Shows how lines of text from standard input become token ids",
      .declare = [](CLI::App& app) -> std::function<int()> {
        const auto options = std::make_shared<TokenizeOptions>();
        app.add_option("--language", options->language, "Language of the text, such as en or zh-cn")
            ->required()
            ->type_name("L");
        auto* vocabulary = app.add_option("--vocab", options->vocabulary, "The vocab.json to use")
                               ->type_name("FILE");
        app.add_option("--model", options->model, "A model directory, to use its vocab.json")
            ->type_name("DIR")
            ->excludes(vocabulary);
        app.add_flag("--split", options->split,
                     "Show instead the pieces that long text is spoken in");
        app.add_flag("--strict", options->strict,
                     "Invalid UTF-8 is an error instead of being replaced");
        return [options] { return tokenize(*options); };
      },
      .examples = {"echo 'It is 5 p.m.' | myxtts tokenize --model xtts-v2 --language en",
                   "myxtts tokenize --vocab vocab.json --language fa < sentences.txt"}};
}

}  // namespace myxtts
