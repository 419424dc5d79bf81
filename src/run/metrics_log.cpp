// SPDX-License-Identifier: Apache-2.0
#include "run/metrics_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw DataError(fmt::format("{} cannot be {}: {}.", path.string(), what,
                              std::generic_category().message(errno)));
}

// The step of a line, or nothing where it is none of ours.
std::optional<std::int64_t> step_of(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) return {};
  return json["step"].get<std::int64_t>();
}

// Where the first line behind `begin` starts that is of a later step, or is cut short.
std::uint64_t end_of_past(const std::filesystem::path& path, std::uint64_t begin,
                          std::int64_t last_step) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    const auto step = step_of(line);
    if (!step || *step > last_step) break;
    begin += line.size() + 1;
  }
  return begin;
}

// Whether a line ends right before `position`.
bool ends_line_at(const std::filesystem::path& path, std::uint64_t position) {
  if (position == 0) return true;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(position - 1));
  return file.get() == '\n';
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, std::uint64_t position, std::int64_t step)
    : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) refuse(path, "opened");
  try {
    const bool whole = ends_line_at(path, position);
    position_ = end_of_past(path, whole ? position : 0, step);
    if (!whole) {
      log_warning("run",
                  "{} is not what it was when the checkpoint was made: it goes on behind {}.",
                  path.string(), human_size(position_));
    }
    cut();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

void MetricsLog::cut() {
  const auto end = static_cast<off_t>(position_);
  if (::ftruncate(file_, end) != 0 || ::lseek(file_, end, SEEK_SET) != end) refuse(path_, "cut");
}

MetricsLog::~MetricsLog() {
  ::close(file_);
}

void MetricsLog::add(std::span<const MetricsLine> lines) {
  std::string text;
  for (const MetricsLine& line : lines) {
    nlohmann::ordered_json json{{"event", line.event}, {"step", line.step}};
    for (const auto& [name, value] : line.metrics) {
      json[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    }
    text += json.dump() + "\n";
  }
  try {
    detail::write_all(file_, bytes_of(text), path_);
  } catch (const DataError&) {
    cut();
    throw;
  }
  position_ += text.size();
}

}  // namespace myxtts
