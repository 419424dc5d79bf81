// SPDX-License-Identifier: Apache-2.0
#include "session/run_records.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/log.h"

namespace myxtts {

void write_settings(const RunDirectory& run, const EffectiveConfig& config) {
  write_file_atomically(run / "config.yaml", bytes_of(print_config(config)));
}

void say(const Lines& lines) {
  for (const std::string& line : lines) log_info("train", "{}", line);
}

std::string resume_command(const RunDirectory& run) {
  return fmt::format("myxtts train --config {} --resume", (run / "config.yaml").string());
}

}  // namespace myxtts
