// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "config/value_text.h"
#include "text/cleaner.h"
#include "text/unicode.h"
#include "text/vocabulary_extension.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string vocabulary;
  std::string language;
  std::string text;
  std::string out;
  std::size_t pieces = 200;
};

std::string read_file(const fs::path& path, const char* what) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) {
    throw DataError(fmt::format("The {} {} cannot be read. Give the path of a file that can.", what,
                                path.string()));
  }
  return text;
}

// As the language's own rules have it, or, where we have none: no quotes, lower case, single
// spaces.
std::string clean_line(const std::string& line, const std::string& code) {
  for (const Language language : all_languages()) {
    if (language_code(language) == code) return clean_text(line, language);
  }
  std::string text = to_lower(repair_utf8(line));
  std::erase(text, '"');
  return collapse_spaces(text);
}

std::vector<std::string> clean_sentences(const Options& options) {
  const std::string text = read_file(options.text, "text");
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string clean = clean_line(text.substr(at, end - at), options.language);
    if (!clean.empty()) sentences.push_back(std::move(clean));
    at = end + 1;
  }
  if (sentences.empty()) {
    throw DataError(fmt::format(
        "{} holds no text to learn from. Give a file with sentences of the language, one a line.",
        options.text));
  }
  return sentences;
}

int extend(const Options& options) {
  if (!is_language_code(options.language)) {
    throw ConfigError(
        fmt::format("--language {} is no code of a language. Give two or three small letters, such "
                    "as fa or ro.",
                    options.language));
  }
  const ExtensionRequest request{.language = options.language,
                                 .sentences = clean_sentences(options),
                                 .pieces = options.pieces};
  const ExtendedVocabulary extended =
      extend_vocabulary(read_file(options.vocabulary, "vocabulary"), options.vocabulary, request);
  fs::path growth = options.out;
  growth.replace_extension(".growth.json");
  write_file_atomically(options.out, bytes_of(extended.json));
  write_file_atomically(growth, bytes_of(growth_json(extended, options.language)));
  log_info("vocab", "{} has {} tokens more, from id {} on; {} says how a network grows with them",
           options.out, extended.rows.size(), extended.old_rows, growth.string());
  return 0;
}

}  // namespace

Command vocab_command() {
  return {.name = "vocab",
          .group = "Text",
          .summary = "Adds a language to a vocabulary",
          .declare = [](CLI::App& app) -> std::function<int()> {
            const auto options = std::make_shared<Options>();
            auto* command = app.add_subcommand(
                "extend", "Append the tag, the letters and learnt tokens of a language");
            app.require_subcommand(1);
            command->add_option("--vocab", options->vocabulary, "The vocab.json to extend")
                ->required()
                ->type_name("FILE");
            command->add_option("--language", options->language, "Code of the language, such as fa")
                ->required()
                ->type_name("L");
            command->add_option("--text", options->text, "Sentences of the language, one a line")
                ->required()
                ->type_name("FILE");
            command->add_option("--out", options->out, "The file to write")
                ->required()
                ->type_name("FILE");
            command
                ->add_option("--pieces", options->pieces,
                             "Tokens of several letters to learn at most (200)")
                ->type_name("N");
            return [options] { return extend(*options); };
          }};
}

}  // namespace myxtts
