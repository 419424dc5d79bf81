// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/bundle.h"

#include <fstream>
#include <span>
#include <sstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "diagnose/doctor/tar_archive.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::streamoff kLongestPart = 4'000'000;  // bytes; of a longer file its end

// What of a run directory tells how the run went. Lists of clips and audio stay at home.
constexpr const char* kRunFiles[] = {"config.yaml", "plan.json", "log.txt", "metrics.jsonl",
                                     "profile.json"};

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

void add_run(const fs::path& folder, const Identity& identity, TarArchive& archive) {
  if (!fs::is_directory(folder)) {
    throw DataError(
        fmt::format("The run directory {} is not there. Give --run the folder that holds log.txt.",
                    folder.string()));
  }
  bool found = false;
  for (const char* name : kRunFiles) {
    if (const auto text = end_of_file(folder / name)) {
      archive.add(fmt::format("run/{}", name), redact(*text, identity));
      found = true;
    }
  }
  if (!found) {
    throw DataError(
        fmt::format("The folder {} holds no log.txt, config.yaml or plan.json, so it is no run "
                    "directory. Give --run "
                    "the folder that training wrote to.",
                    folder.string()));
  }
}

}  // namespace

void write_bundle(const fs::path& file, const BundleContent& content, const Identity& identity) {
  TarArchive archive;
  archive.add("doctor.txt", redact(content.report_text, identity));
  archive.add("doctor.json", redact(content.report_json, identity));
  if (content.config) archive.add("config.yaml", redact(*content.config, identity));
  if (content.run_directory) add_run(*content.run_directory, identity, archive);
  const std::string bytes = std::move(archive).finish();
  write_file_atomically(file, std::as_bytes(std::span(bytes)));
}

}  // namespace myxtts
