// SPDX-License-Identifier: Apache-2.0
#include "run/metrics_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"

namespace myxtts {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view what) {
  throw DataError(fmt::format("{} cannot be {}: {}.", path.string(), what,
                              std::generic_category().message(errno)));
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, std::uint64_t position)
    : path_(path), position_(position) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) refuse(path, "opened");
  struct stat status = {};
  if (::fstat(file_, &status) != 0) refuse(path, "looked at");
  if (static_cast<std::uint64_t>(status.st_size) < position) {
    ::close(file_);
    throw DataError(
        fmt::format("{} has {} bytes, but the checkpoint was made when it had {}; it was changed "
                    "since. Move it "
                    "away to go on without its past.",
                    path.string(), status.st_size, position));
  }
  const auto end = static_cast<off_t>(position);
  if (::ftruncate(file_, end) != 0 || ::lseek(file_, end, SEEK_SET) != end) refuse(path, "cut");
}

MetricsLog::~MetricsLog() {
  ::close(file_);
}

void MetricsLog::add(std::string_view event, std::int64_t step, const Metrics& metrics) {
  nlohmann::ordered_json line{{"event", event}, {"step", step}};
  for (const auto& [name, value] : metrics) {
    line[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  }
  const std::string text = line.dump() + "\n";
  detail::write_all(file_, bytes_of(text), path_);
  position_ += text.size();
}

}  // namespace myxtts
