// SPDX-License-Identifier: Apache-2.0
#include "cli/licence.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"

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
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

Licence settle_licence(const fs::path& folder, const LicenceOptions& options) {
  const std::string file = find_licence_file(folder);
  if (file.empty()) {
    const std::string name = options.name.empty() ? "unknown" : options.name;
    if (options.name.empty()) {
      log_info(
          "import",
          "{} has no licence file. If its weights are the public XTTS v2 or were trained from it, "
          "they come under {}. Name their licence with --licence.",
          folder.string(), kPublicTerms);
    }
    return {.name = name, .file = "", .accepted = options.accepted};
  }
  const std::string text = read_text_file(folder / file, "licence", kLongestLicence);
  const std::string name = options.name.empty() ? first_line(text) : options.name;
  const bool accepted_before = fs::exists(folder / "tos_agreed.txt");
  if (!options.accepted && !accepted_before) {
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

}  // namespace myxtts
