// SPDX-License-Identifier: Apache-2.0
#include "run/import_model.h"

#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/progress.h"
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

}  // namespace

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

namespace {

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

}  // namespace

void import_model(const fs::path& from, const fs::path& out, bool replace,
                  const std::function<Licence()>& accept) {
  require_other_folder(from, out);
  StagedFolder target(out, replace, files_we_write());
  const PublicFolder source(from);
  const std::string json = config_with_vocabulary(from);
  const std::string subject = (from / files::kConfig).string();
  const ModelConfig config = parse_model_config(json, subject);
  check_weights(source, config);
  const Licence licence = accept();

  write_weights(source, config, target);
  write_file_atomically(target / files::kConfig, bytes_of(with_licence(json, licence, subject)));
  fs::copy_file(from / files::kVocabulary, target / files::kVocabulary);
  if (!licence.file.empty()) fs::copy_file(from / licence.file, target / licence.file);
  target.commit();
  log_info("import", "{} is ready, made from {} ({} layers of width {}, {} text ids).",
           out.string(), source.checkpoint_path(), config.gpt.layers, config.gpt.width,
           config.gpt.text_ids);
}

}  // namespace myxtts
