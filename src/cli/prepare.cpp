// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "data/layouts/manifest.h"
#include "diagnose/corpus/corpus_report.h"
#include "diagnose/corpus/corpus_survey.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "session/console.h"
#include "session/starting_model.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct PrepareArguments {
  explicit PrepareArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  std::vector<std::string> corpora;
  fs::path model;
  fs::path vocabulary;
  fs::path report;  // empty: beside the index
  bool codes = false;
  bool json = false;
};

RunConfig config_of(const PrepareArguments& arguments, const EffectiveConfig& effective) {
  auto config = effective.values;
  config.data.train_data = parse_corpora(arguments.corpora, "CORPUS");
  config.data.val_data.clear();
  config.data.val_fraction = 0.0;
  // Whoever wants to know what is wrong with a corpus is not helped by a refusal.
  if (effective.origin_of("data.max_skipped").kind == Origin::Kind::Default) {
    config.data.max_skipped = 1.0;
  }
  return config;
}

void check(const PrepareArguments& arguments, const RunConfig& config) {
  if (arguments.codes && (arguments.model.empty() || !config.data.cache_dir)) {
    throw ConfigError(
        "--codes needs the model that makes them and a folder to keep them in. Give --model DIR "
        "and --cache-dir DIR.");
  }
  if (!arguments.report.empty()) require_output("--report", arguments.report, Output::File);
  require_output("--cache-dir", index_folder(config.data), Output::Folder);
  check_corpora(config.data);
}

// Of the model, of the file, or as a training from nothing would learn it.
Vocabulary vocabulary_of(const PrepareArguments& arguments, const RunConfig& config,
                         const fs::path& model) {
  if (!model.empty()) return Vocabulary::load(model / files::kVocabulary);
  if (!arguments.vocabulary.empty()) return Vocabulary::load(arguments.vocabulary);
  log_info("prepare",
           "tokens are those of a vocabulary learnt from these texts, as train has it without "
           "--init; for that of a model give --model DIR");
  return Vocabulary::parse(vocabulary_of_new_model(config), "the learnt vocabulary");
}

int prepare(const PrepareArguments& arguments, const RunConfig& config) {
  check(arguments, config);
  const fs::path folder =
      arguments.model.empty() ? fs::path() : find_model("--model", arguments.model);
  const auto vocabulary = vocabulary_of(arguments, config, folder);
  std::optional<OpenModel> model;
  if (!folder.empty()) model = open_model(folder);

  const auto report = survey_corpus(config, vocabulary, model, arguments.codes);
  const auto page = arguments.report.empty() ? report_path(config.data) : arguments.report;
  write_file_atomically(page, bytes_of(to_html(report)));
  print(arguments.json ? to_json(report) : describe(report));
  log_info("prepare", "{} shows the same with pictures, and plays the suspicious clips.",
           page.string());
  if (report.all.clips == 0) {
    std::map<SkipReason, std::int64_t> counts;
    for (const Skipped& clip : report.skipped) ++counts[clip.reason];
    throw DataError(fmt::format("No clip of {} can be used ({}); {} says why.", report.title,
                                summary_of(counts), page.string()));
  }
  return 0;
}

int run_prepare(const PrepareArguments& arguments) {
  const Interruption interruption;
  const EffectiveConfig settings = make_effective_config(arguments.flags.sources());
  try {
    return with_named_origins(settings,
                              [&] { return prepare(arguments, config_of(arguments, settings)); });
  } catch (const Interrupted& interrupted) {
    if (!arguments.codes) throw;
    log_info("prepare",
             "interrupted; the features that were made are kept, and the same command "
             "goes on with the other clips");
    return kExitBySignal + interrupted.signal;
  }
}

std::function<int()> declare_prepare(CLI::App& app) {
  const auto arguments = std::make_shared<PrepareArguments>(app);
  app.add_option("CORPUS", arguments->corpora, "The folder or manifest of each corpus")->required();
  app.add_option("--model", arguments->model, "The model folder whose vocabulary counts.")
      ->type_name("DIR");
  app.add_option("--vocab", arguments->vocabulary, "The vocab.json to use instead of a model's.")
      ->type_name("FILE");
  app.add_option("--report", arguments->report,
                 "The page to write. [one beside the corpus' index, named after it]")
      ->type_name("FILE");
  app.add_flag("--codes", arguments->codes,
               "Fills the feature cache of the model in --cache-dir, for train --cache-dataset.");
  app.add_flag("--json", arguments->json, "Prints one JSON object instead of lines.");
  return [arguments] { return run_prepare(*arguments); };
}

}  // namespace

Command prepare_command() {
  return {.name = "prepare",
          .group = "Data",
          .summary = "Looks a corpus over before training and can fill the feature cache",
          .declare = declare_prepare,
          .examples = {"myxtts prepare LJSpeech-1.1 --model xtts",
                       "myxtts prepare LJSpeech-1.1 --model xtts --codes --cache-dir cache"}};
}

}  // namespace myxtts
