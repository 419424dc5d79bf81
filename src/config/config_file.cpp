// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "config/effective_config.h"
#include "config/settings_reader.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// The folder of the recipes: that of what was installed with the program, or of the checkout that
// it was built in. Empty where neither is there.
fs::path recipes_folder() {
  const fs::path around = library_folder().parent_path();
  for (const fs::path& folder :
       {around / "share/myxtts/configs", around.parent_path().parent_path() / "configs"}) {
    std::error_code missing;
    if (fs::is_directory(folder, missing)) return folder;
  }
  return {};
}

// ", or one of the recipes of DIR: a.yaml or b.yaml".
std::string naming_recipes() {
  const fs::path folder = recipes_folder();
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names.empty() ? ""
                       : fmt::format(", or a recipe of {}: {}", folder.string(), listed(names));
}

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string read_bytes(const std::filesystem::path& path, const std::string& name) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) {
    throw ConfigError(
        fmt::format("There is no config file {}; give --config the path of a YAML file{}.", name,
                    naming_recipes()));
  }
  if (std::filesystem::is_directory(status)) {
    throw ConfigError(fmt::format("{} is a folder; give --config the path of a YAML file.", name));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMostBytes + 1, '\0');
  if (!file || file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())).bad()) {
    throw ConfigError(fmt::format(
        "The config file {} cannot be read; check its permissions or give another.", name));
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > kMostBytes) {
    throw ConfigError(fmt::format(
        "The config file {} is larger than 1 MB; give --config a YAML file of settings.", name));
  }
  return bytes;
}

// The control characters that YAML knows are those of lines and tabs.
bool is_yaml_text(std::string_view bytes) {
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 && c != '\n' && c != '\r' && c != '\t') return false;
  }
  return is_text(bytes);
}

// YAML does not allow tabs for indentation, and yaml-cpp misreads such lines without a word.
void refuse_tabs(const std::string& bytes, const std::string& name) {
  std::istringstream lines(bytes);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    const std::size_t text = line.find_first_not_of(" \t\r");
    if (text == std::string::npos || line.substr(0, text).find('\t') == std::string::npos) continue;
    throw ConfigError(fmt::format("{}:{}: {} is indented with a tab; use spaces.", name, number,
                                  quote(line.substr(text))));
  }
}

void parse(const std::string& bytes, const std::string& name, SettingsReader& reader) {
  std::istringstream stream(bytes);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& error) {
    throw ConfigError(
        fmt::format("{}:{}: This is not valid YAML ({}); write lines such as "
                    "'seed: 7' below a line 'train:'.",
                    name, line_of(error.mark), error.msg));
  }
}

}  // namespace

std::vector<Setting> read_config_file(const std::filesystem::path& path) {
  const std::string name = one_line(path.string());
  std::string bytes = read_bytes(path, name);
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  if (!is_yaml_text(bytes)) {
    throw ConfigError(fmt::format(
        "The config file {} is not UTF-8 text; save it as UTF-8 or give another.", name));
  }
  refuse_tabs(bytes, name);
  SettingsReader reader(name);
  parse(bytes, name, reader);
  std::vector<Setting> settings = reader.take_settings();
  for (const std::string& note : reader.notes()) log_info("config", "{}", note);
  return settings;
}

std::string find_recipe(const std::string& name) {
  const fs::path folder = recipes_folder();
  std::error_code missing;
  if (folder.empty() || !fs::is_regular_file(folder / name, missing)) return {};
  const fs::path here = fs::path("configs") / name;
  return fs::equivalent(here, folder / name, missing) ? here.string() : (folder / name).string();
}

fs::path file_or_recipe(const fs::path& named) {
  std::error_code missing;
  const fs::path folder = named.parent_path().lexically_normal();
  const bool may_be_recipe = folder.empty() || folder == "configs";
  if (!may_be_recipe || fs::exists(named, missing)) return named;
  const std::string name = named.filename().string();
  const std::string recipe = find_recipe(name.ends_with(".yaml") ? name : name + ".yaml");
  if (recipe.empty()) return named;
  log_info("config", "--config {} is the recipe {}", one_line(named.string()), recipe);
  return recipe;
}

}  // namespace myxtts
