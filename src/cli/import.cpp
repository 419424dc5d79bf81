// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
#include "run/model_folder.h"
#include "run/public_folder.h"
#include "run/staged_folder.h"
#include "text/vocabulary.h"
#include "weights/safetensors.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLicence = 1 << 20;
constexpr const char* kPublicTerms =
    "the Coqui Public Model License (no commercial use; https://coqui.ai/cpml)";

// The licence's own file name; empty if there is none.
std::string find_licence_file(const fs::path& folder) {
  for (const char* name : {"LICENSE.txt", "LICENSE", "LICENCE.txt", "LICENCE", "LICENSE.md"}) {
    if (fs::is_regular_file(folder / name)) return name;
  }
  return {};
}

std::string first_line(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n#");
  if (begin == std::string::npos) return "unknown";
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

bool ask_on_terminal() {
  if (::isatty(STDIN_FILENO) == 0) return false;
  std::fputs("Do you accept these terms? [y/N] ", stderr);
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (::poll(&input, 1, -1) < 0 && errno == EINTR) stop_if_interrupted();
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Finds the terms of the weights in `folder`, shows them and has them accepted: by the option, by
// the mark that coqui-tts leaves once they were accepted there, or by asking on the terminal.
// Throws ConfigError if there are terms and nobody accepted them.
Licence accept_licence(const fs::path& folder, const std::string& given_name, bool accepted) {
  const std::string file = find_licence_file(folder);
  if (file.empty()) {
    const std::string name = given_name.empty() ? "unknown" : given_name;
    if (given_name.empty()) {
      log_info(
          "import",
          "{} has no licence file. If its weights are the public XTTS v2 or were trained from it, "
          "they come under {}. Name their licence with --licence.",
          folder.string(), kPublicTerms);
    }
    return {.name = name, .file = "", .accepted = accepted};
  }
  const std::string text = read_text_file(folder / file, "licence", kLongestLicence);
  const std::string name = given_name.empty() ? first_line(text) : given_name;
  const bool accepted_before = fs::exists(folder / "tos_agreed.txt");
  if (!accepted && !accepted_before) {
    std::fprintf(stderr, "%s\n", text.c_str());
    if (!ask_on_terminal()) {
      throw ConfigError(fmt::format(
          "The weights in {} come under \"{}\"; read {} and add --accept-licence to accept it.",
          folder.string(), name, (folder / file).string()));
    }
  }
  log_info("import", "Licence of the weights: {} ({}).", name, file);
  return {.name = name, .file = file, .accepted = true};
}

struct ImportArguments {
  fs::path from;
  fs::path out;
  std::string licence;  // its name; empty: what the folder says
  bool accepts_licence = false;
  bool force = false;
};

// The public config.json with what the vocabulary decides.
std::string config_with_vocabulary(const fs::path& folder) {
  const Vocabulary vocabulary = Vocabulary::load(folder / files::kVocabulary);
  return with_text_ids(
      read_config_text(folder),
      {.count = vocabulary.rows(), .start = vocabulary.start(), .stop = vocabulary.stop()},
      (folder / files::kConfig).string());
}

void write_weights(const PublicFolder& source, const ModelConfig& config,
                   const StagedFolder& target) {
  const std::uint64_t dvae_bytes = source.dvae() != nullptr ? source.dvae()->bytes() : 0;
  Progress progress({.title = "Importing",
                     .total = source.model().bytes() + dvae_bytes,
                     .unit = ProgressOptions::Unit::Bytes});
  source.model().write(target / files::kModel, checkpoint_specs(config), progress);
  if (source.dvae() != nullptr) {
    source.dvae()->write(target / files::kDvae, dvae_specs(config.dvae), progress);
  }
  const TensorViews voices = source.voices();
  if (!voices.empty()) write_safetensors(target / files::kVoices, voices, {{"format", "pt"}});
}

void check_weights(const PublicFolder& source, const ModelConfig& config) {
  require_tensors(source.model().found(), checkpoint_specs(config), source.checkpoint_path());
  if (source.dvae() != nullptr) {
    require_tensors(source.dvae()->found(), dvae_specs(config.dvae), "The DVAE");
  } else {
    log_warning(
        "import",
        "There is no dvae.pth: the model can speak, but neither be trained nor encode clips.");
  }
  source.compare_mel_stats();
}

int run_import(const ImportArguments& arguments) {
  require_other_folder(arguments.from, arguments.out);
  const Interruption interruption;
  StagedFolder target(arguments.out, arguments.force, files_we_write());
  const PublicFolder source(arguments.from);
  const std::string json = config_with_vocabulary(arguments.from);
  const std::string subject = (arguments.from / files::kConfig).string();
  const ModelConfig config = parse_model_config(json, subject);
  check_weights(source, config);
  const Licence licence =
      accept_licence(arguments.from, arguments.licence, arguments.accepts_licence);

  write_weights(source, config, target);
  write_file_atomically(target / files::kConfig, bytes_of(with_licence(json, licence, subject)));
  fs::copy_file(arguments.from / files::kVocabulary, target / files::kVocabulary);
  if (!licence.file.empty()) {
    fs::copy_file(arguments.from / licence.file, target / licence.file);
  }
  target.commit();
  log_info("import", "{} is ready, made from {} ({} layers of width {}, {} text ids).",
           arguments.out.string(), source.checkpoint_path(), config.gpt.layers, config.gpt.width,
           config.gpt.text_ids);
  return 0;
}

}  // namespace

Command import_command() {
  const auto declare = [](CLI::App& app) {
    auto arguments = std::make_shared<ImportArguments>();
    app.add_option("--from", arguments->from,
                   "Folder with model.pth (or a trainer's checkpoint), config.json and vocab.json")
        ->required();
    app.add_option("--out", arguments->out, "The model folder to make")->required();
    app.add_option("--licence", arguments->licence, "What the weights' licence is called");
    app.add_flag("--accept-licence", arguments->accepts_licence,
                 "Accept the licence that comes with the weights");
    app.add_flag("--force", arguments->force, "Replace a model folder that exists");
    return [arguments] { return run_import(*arguments); };
  };
  return {.name = "import",
          .group = "Models",
          .summary = "Turns public XTTS weights or a trainer's checkpoint into a model folder",
          .declare = declare,
          .examples = {"myxtts import --from XTTS-v2 --out models/xtts-v2 --accept-licence"}};
}

}  // namespace myxtts
