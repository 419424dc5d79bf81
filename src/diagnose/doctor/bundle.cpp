// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/bundle.h"

#include <pwd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "config/model_part.h"
#include "config/resumed_run.h"

namespace myxtts {
namespace {

constexpr std::size_t kBlock = 512;

void put(std::string& header, std::size_t offset, std::string_view text) {
  header.replace(offset, text.size(), text);
}

unsigned byte_sum(const std::string& header) {
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  return sum;
}

std::string make_header(std::string_view name, std::size_t size) {
  std::string header(kBlock, '\0');
  put(header, 0, name);
  put(header, 100, "0000644");                     // mode
  put(header, 108, "0000000");                     // user
  put(header, 116, "0000000");                     // group
  put(header, 124, fmt::format("{:011o}", size));  // bytes
  put(header, 136, "00000000000");                 // time
  put(header, 148, "        ");                    // the sum is made with spaces in its place
  put(header, 156, "0");                           // an ordinary file
  put(header, 257, std::string_view("ustar\00000", 8));
  put(header, 148, fmt::format("{:06o}", byte_sum(header)));
  header[154] = '\0';
  return header;
}

// Adds a file to a tar archive (POSIX ustar): owned by nobody, dated at the epoch, so that it
// carries nothing about who made it. `name` is a relative path of at most 100 bytes.
void add_file(std::string& archive, std::string_view name, std::string_view content) {
  MYXTTS_CHECK(!name.empty() && name.size() <= 100, "{} is no name for a file in a tar", name);
  archive += make_header(name, content.size());
  archive += content;
  archive.append((kBlock - content.size() % kBlock) % kBlock, '\0');
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

// Replaces `name` where no letter or digit touches it.
void replace_word(std::string& text, const std::string& name, const std::string& by) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    const auto end = at + name.size();
    const bool alone =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    if (alone) text.replace(at, name.size(), by);
    at += alone ? by.size() : 1;
  }
}

void add_variable(const char* name, std::vector<std::string>& to) {
  const char* value = std::getenv(name);
  if (value != nullptr) to.emplace_back(value);
}

// Longest first, so that a name within another does not leave half of it; "/" is nobody's home.
void tidy(std::vector<std::string>& names) {
  for (std::string& name : names) {
    while (name.size() > 1 && name.back() == '/') name.pop_back();
  }
  std::erase_if(names, [](const std::string& name) { return name.size() < 2; });
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

namespace fs = std::filesystem;

constexpr std::streamoff kLongestPart = 4'000'000;  // bytes; of a longer file its end

// The files of a run directory that show how the run went. Lists of clips and audio are left out.
constexpr const char* kRunFiles[] = {"config.yaml", "chain.json",    "plan.json",
                                     "log.txt",     "metrics.jsonl", "profile.json"};

std::optional<std::string> end_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !fs::is_regular_file(path)) return std::nullopt;
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  const bool cut = size > kLongestPart;
  file.seekg(cut ? size - kLongestPart : 0);
  std::string partial_line;
  if (cut) std::getline(file, partial_line);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// True: there are such files.
bool add_run_files(const fs::path& folder, const std::string& name, const Identity& identity,
                   std::string& archive) {
  bool found = false;
  for (const char* file : kRunFiles) {
    const auto text = end_of_file(folder / file);
    if (!text) continue;
    add_file(archive, fmt::format("{}/{}", name, file), redact(*text, identity));
    found = true;
  }
  return found;
}

void add_run(const fs::path& folder, const Identity& identity, std::string& archive) {
  if (!fs::is_directory(folder)) {
    throw DataError(
        fmt::format("The run directory {} is not there. Give --run the folder that holds log.txt.",
                    folder.string()));
  }
  bool found = add_run_files(folder, "run", identity, archive);
  // A run of several parts has a folder for each.
  for (const ModelPart part : kModelParts) {
    const std::string name(name_of(part));
    found = add_run_files(folder / name, "run/" + name, identity, archive) || found;
  }
  if (!found) {
    const std::string near = flag_of_run_near("--run", folder);
    throw DataError(fmt::format(
        "The folder {} holds no log.txt, config.yaml or plan.json, so it is no run "
        "directory; {}.",
        folder.string(), near.empty() ? "give --run the folder that training wrote to" : near));
  }
}

}  // namespace

Identity Identity::of_this_process() {
  Identity identity;
  add_variable("HOME", identity.homes);
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"}) {
    add_variable(variable, identity.users);
  }
  if (const passwd* user = getpwuid(getuid())) {
    identity.homes.emplace_back(user->pw_dir);
    identity.users.emplace_back(user->pw_name);
  }
  add_variable("HOSTNAME", identity.hosts);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) {
    const std::string full = host.data();
    identity.hosts.push_back(full);
    identity.hosts.push_back(full.substr(0, full.find('.')));
  }
  return identity;
}

std::string redact(std::string text, const Identity& identity) {
  Identity names = identity;
  for (auto* list : {&names.homes, &names.users, &names.hosts}) tidy(*list);
  for (const auto& home : names.homes) replace_word(text, home, "~");
  for (const auto& host : names.hosts) replace_word(text, host, "<host>");
  for (const auto& user : names.users) replace_word(text, user, "<user>");
  return text;
}

void write_bundle(const fs::path& file,
                  const std::vector<std::pair<std::string, std::string>>& texts,
                  const std::optional<fs::path>& run_directory, const Identity& identity) {
  std::string archive;
  for (const auto& [name, text] : texts) add_file(archive, name, redact(text, identity));
  if (run_directory) add_run(*run_directory, identity, archive);
  archive.append(2 * kBlock, '\0');
  write_file_atomically(file, std::as_bytes(std::span(archive)));
}

}  // namespace myxtts
