// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "config/value_text.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "run/staged_folder.h"
#include "session/vocabulary_texts.h"
#include "text/language.h"
#include "text/vocabulary_learning.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestVocabulary = 64 << 20;  // bytes

struct ExtendOptions {
  std::string vocabulary;
  std::string model;
  std::string language;
  std::string text;
  std::string out;
  std::size_t pieces = 200;
  bool force = false;
};

ExtendedVocabulary extend_file(const fs::path& vocabulary, const ExtendOptions& options) {
  const Language language = parse_language(options.language);
  const auto sentences = read_learning_text(options.text, language);
  const std::string json = read_text_file(vocabulary, "vocabulary", kLargestVocabulary);
  return extend_vocabulary(json, vocabulary.string(), language_code(language), sentences,
                           options.pieces);
}

void write_vocabulary(const ExtendOptions& options) {
  fs::path growth = options.out;
  growth.replace_extension(".growth.json");
  require_output("--out", options.out, Output::File);
  const ExtendedVocabulary extended = extend_file(options.vocabulary, options);
  write_file_atomically(options.out, bytes_of(extended.json));
  write_file_atomically(
      growth, bytes_of(growth_json(extended, language_code(parse_language(options.language)))));
  log_info("vocab", "{} has {} more, from id {} on; {} says how a network grows with them",
           options.out, counted(std::ssize(extended.rows), "token"), extended.old_rows,
           growth.string());
}

void write_model(const ExtendOptions& options) {
  const Interruption interruption;
  StagedFolder target(options.out, options.force, files_we_write());
  const fs::path model = find_model("--model", options.model);
  if (!fs::exists(model / files::kVocabulary)) {
    throw DataError(fmt::format("{} has no {}; give --model a folder that 'myxtts import' made.",
                                model.string(), files::kVocabulary));
  }
  const ExtendedVocabulary extended = extend_file(model / files::kVocabulary, options);
  write_grown_folder(model, extended, target);
  target.commit();
  log_info("vocab", "{} is ready, with {} more than {}, from id {} on", options.out,
           counted(std::ssize(extended.rows), "token and its row", "tokens and their rows"),
           model.string(), extended.old_rows);
}

int extend(const ExtendOptions& options) {
  if (!is_language_code(options.language)) {
    const auto meant = language_code_meant(options.language);
    throw ConfigError(
        fmt::format("--language {} is no code of a language{}", options.language,
                    meant ? fmt::format("; did you mean {}?", *meant)
                          : std::string(". Give two or three small letters, such as fa or ro.")));
  }
  if (options.vocabulary.empty() && options.model.empty()) {
    throw ConfigError(
        "vocab extend needs a vocabulary. Give --vocab FILE, or --model DIR to have a whole model "
        "grow.");
  }
  if (const Language language = parse_language(options.language); language.is_other()) {
    log_info("vocab", "{}", note_of_plain_cleaning(language));
  }
  if (options.model.empty()) {
    write_vocabulary(options);
  } else {
    write_model(options);
  }
  return 0;
}

}  // namespace

Command vocab_command() {
  return {.name = "vocab",
          .group = "Text",
          .summary = "Adds a language to a vocabulary or a model",
          .declare = [](CLI::App& app) -> std::function<int()> {
            const auto options = std::make_shared<ExtendOptions>();
            auto* command = app.add_subcommand(
                "extend", "Append the tag, the letters and learnt tokens of a language");
            app.require_subcommand(1);
            auto* vocabulary =
                command->add_option("--vocab", options->vocabulary, "The vocab.json to extend")
                    ->type_name("FILE");
            auto* model = command
                              ->add_option("--model", options->model,
                                           "A model folder to grow as a whole instead")
                              ->type_name("DIR")
                              ->excludes(vocabulary);
            command->add_option("--language", options->language, "Code of the language, such as fa")
                ->required()
                ->type_name("L");
            command->add_option("--text", options->text, "Sentences of the language, one a line")
                ->required()
                ->type_name("FILE");
            command->add_option("--out", options->out, "The file, or the model folder, to write")
                ->required()
                ->type_name("PATH");
            command
                ->add_option("--pieces", options->pieces,
                             "Tokens of several letters to learn at most (200)")
                ->type_name("N")
                ->check(whole_number_in(0, 100'000));
            command->add_flag("--force", options->force, "Replace a model folder that exists")
                ->needs(model);
            return [options] { return extend(*options); };
          }};
}

}  // namespace myxtts
