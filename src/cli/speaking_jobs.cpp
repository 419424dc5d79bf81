// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/synthesize.h"
#include "text/markup.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestTextFile = std::size_t{256} << 20U;  // bytes

// The id and the text of a line of --text-file that goes into a folder: "s12|Good morning." is
// s12.wav; a line without an id has its number.
std::pair<std::string, std::string> named_line(const std::string& line, std::size_t number) {
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

// A line with an id has a file of its own, which only a folder can hold; elsewhere the id would be
// read aloud.
void refuse_id(const SpeakingFlags& flags, const std::string& line, std::size_t number) {
  const auto bar = line.find('|');
  if (bar == std::string::npos || bar == 0 || line.find_first_of(" \t") < bar) return;
  const std::string id = repair_utf8(line.substr(0, bar));
  if (flags.join) {
    throw ConfigError(
        fmt::format("Line {} has the id \"{}\", and --join makes one file of all lines; leave the "
                    "ids out, or --join.",
                    number, id));
  }
  throw ConfigError(
      fmt::format("Line {} has the id \"{}\", so it becomes a file of that name; give a folder, as "
                  "in --out {}, or leave the ids out.",
                  number, id, shell_word((flags.out.parent_path() / flags.out.stem()).string())));
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

std::string name_of(const fs::path& file) {
  return file == "-" ? "standard input" : file.string();
}

// Text in another encoding would be babbled.
void require_utf8(std::string_view text, const std::string& name) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw DataError(fmt::format(
        "{} is text in UTF-16; write it in UTF-8, as with iconv -f UTF-16 -t UTF-8.", name));
  }
  if (const auto at = first_invalid_utf8(text)) {
    throw DataError(fmt::format(
        "{} is not UTF-8 at byte {}; write it in UTF-8, as with iconv -f ISO-8859-1 -t UTF-8.",
        name, *at));
  }
}

std::string text_of(const fs::path& file) {
  const bool is_input = file == "-";
  if (is_input && ::isatty(STDIN_FILENO) != 0) {
    log_info("synthesize", "type what to say, a text on each line, and Ctrl-D at the end");
  }
  std::string text =
      read_text_file(is_input ? fs::path("/dev/stdin") : file, "text", kLargestTextFile);
  require_utf8(text, name_of(file));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte-order mark
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Where a text stands, for messages.
std::string subject_of(const SpeakingFlags& flags, std::size_t line) {
  return fmt::format("Text {} of {}", line, name_of(flags.text_file));
}

SpeakingJob job_of(fs::path out, TextPieces text) {
  return {.name = {},
          .out = std::move(out),
          .pieces = std::move(text.pieces),
          .pause_ms = text.pause_ms};
}

// A document is one text, which a folder has no name for.
void require_one_file(const SpeakingFlags& flags) {
  if (!goes_into_folder(flags)) return;
  throw ConfigError(fmt::format(
      "{} is one text in SSML, and --out {} is a folder; name a file, such as --out {}.",
      name_of(flags.text_file), shell_word(flags.out.string()),
      shell_word((flags.out / "speech.wav").string())));
}

// A file for each line.
std::vector<SpeakingJob> separate_jobs(const SpeakingFlags& flags, const std::string& all,
                                       const CutText& cut) {
  std::vector<SpeakingJob> jobs;
  std::map<fs::path, std::size_t> written;  // the line that each file is of
  const bool in_folder = goes_into_folder(flags);
  std::size_t number = 0;
  for (const std::string& line : lines_of(all)) {
    ++number;
    if (!in_folder) refuse_id(flags, line, number);
    const auto [id, text] = in_folder ? named_line(line, number) : std::pair(std::string(), line);
    jobs.push_back(job_of(in_folder ? flags.out / (id + ".wav") : numbered(flags.out, number),
                          cut(text, subject_of(flags, number))));
    jobs.back().name = fmt::format("line {}", number);
    if (!jobs.back().pieces.empty()) require_own_file(written, jobs.back().out, number);
  }
  return jobs;
}

// One file of all lines.
SpeakingJob joined_job(const SpeakingFlags& flags, const std::string& all, const CutText& cut) {
  SpeakingJob job{.name = "", .out = flags.out, .pieces = {}};
  std::size_t number = 0;
  for (const std::string& line : lines_of(all)) {
    refuse_id(flags, line, ++number);
    auto [pieces, pause_ms] = cut(line, subject_of(flags, number));
    if (pieces.empty()) {
      job.pause_ms += pause_ms;
      continue;
    }
    pieces.front().pause_ms += std::exchange(job.pause_ms, pause_ms);
    job.pieces.insert(job.pieces.end(), pieces.begin(), pieces.end());
    job.ends.push_back(job.pieces.size() - 1);
  }
  return job;
}

}  // namespace

std::vector<SpeakingJob> jobs_of(const SpeakingFlags& flags, const CutText& cut) {
  std::vector<SpeakingJob> jobs;
  if (flags.text) {
    jobs.push_back(job_of(flags.out, cut(*flags.text, "--text")));
  } else if (const std::string text = text_of(flags.text_file); is_ssml(text)) {
    require_one_file(flags);
    jobs.push_back(job_of(flags.out, cut(text, name_of(flags.text_file))));
  } else if (flags.join) {
    jobs.push_back(joined_job(flags, text, cut));
  } else {
    jobs = separate_jobs(flags, text, cut);
  }
  std::erase_if(jobs, [](const SpeakingJob& job) { return job.pieces.empty(); });
  if (jobs.empty()) {
    throw ConfigError(fmt::format("There is nothing to say: {} is empty.",
                                  flags.text ? "--text" : name_of(flags.text_file)));
  }
  return jobs;
}

}  // namespace myxtts
