// SPDX-License-Identifier: Apache-2.0
#include "cli/speaking_jobs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/paths.h"
#include "synth/decode_engine.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownBytes = 60;                            // of a text that is warned of
constexpr std::size_t kLargestTextFile = std::size_t{256} << 20U;  // bytes

// A line of --text-file that goes into a folder.
struct NamedLine {
  std::string id;
  std::string text;
};

// "s12|Good morning." is s12.wav; a line without an id has its number.
NamedLine named_line(const std::string& line, std::size_t number) {
  const auto bar = line.find('|');
  if (bar == std::string::npos) return {fmt::format("{:04}", number), line};
  std::string id = line.substr(0, bar);
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.')) {
    throw ConfigError(
        fmt::format("Line {} names no file: \"{}\"; write an id of letters, digits and dashes, a | "
                    "and what to say.",
                    number, repair_utf8(id)));
  }
  return {std::move(id), line.substr(bar + 1)};
}

// out.wav becomes out-0001.wav.
fs::path numbered(const fs::path& out, std::size_t number) {
  const auto name =
      fmt::format("{}-{:04}{}", out.stem().string(), number, out.extension().string());
  return out.parent_path() / name;
}

// Of two lines that are one file, one would be lost.
void require_own_file(std::map<fs::path, std::size_t>& written, const fs::path& out,
                      std::size_t number) {
  const auto [first, is_new] = written.try_emplace(out, number);
  if (is_new) return;
  throw ConfigError(
      fmt::format("Lines {} and {} would both be {}; give each line an id of its own.",
                  first->second, number, repair_utf8(out.filename().string())));
}

// Signs that a model was never taught come out as babble.
void warn_of_unknown_signs(const std::vector<SpeakingJob>& jobs, std::int64_t unknown) {
  std::int64_t found = 0;
  const std::string* first = nullptr;
  for (const auto& job : jobs) {
    for (const auto& piece : job.pieces) {
      const auto own = std::ranges::count(piece.ids, unknown);
      if (own > 0 && first == nullptr) first = &piece.text;
      found += own;
    }
  }
  if (first == nullptr) return;
  log_warning("synthesize",
              "the model was never taught {} of the signs to be read, first in \"{}\"; is this its "
              "language, in the letters of its training texts?",
              found, repair_utf8(std::string_view(*first).substr(0, kShownBytes)));
}

}  // namespace

std::vector<SpeakingJob> make_jobs(const SpeakingFlags& flags, const SpeakingModel& model) {
  const Language language = parse_language(flags.language);
  const TextEncoder encoder(model.vocabulary, language);
  const auto most = most_text_tokens(model.config.gpt);
  std::vector<SpeakingJob> jobs;
  if (flags.text) {
    jobs.push_back({"", flags.out, text_pieces(*flags.text, language, encoder, most)});
  } else {
    std::istringstream lines(read_text_file(flags.text_file, "text", kLargestTextFile));
    std::map<fs::path, std::size_t> written;  // the line that each file is of
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      const bool in_folder = goes_into_folder(flags);
      const NamedLine named = in_folder ? named_line(line, number) : NamedLine{"", line};
      jobs.push_back({fmt::format("line {}", number),
                      in_folder ? flags.out / (named.id + ".wav") : numbered(flags.out, number),
                      text_pieces(named.text, language, encoder, most)});
      if (!jobs.back().pieces.empty()) require_own_file(written, jobs.back().out, number);
    }
  }
  std::erase_if(jobs, [](const SpeakingJob& job) { return job.pieces.empty(); });
  warn_of_unknown_signs(jobs, model.vocabulary.unknown());
  if (jobs.empty()) {
    throw ConfigError(fmt::format("There is nothing to say: {} is empty.",
                                  flags.text ? "--text" : flags.text_file.string()));
  }
  return jobs;
}

}  // namespace myxtts
