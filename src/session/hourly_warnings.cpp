// SPDX-License-Identifier: Apache-2.0
#include "session/hourly_warnings.h"

#include "base/log.h"

namespace myxtts {

bool HourlyWarnings::warn(const std::string& cause, const std::string& sentence) {
  const auto now = clock_.now();
  const auto last = said_.find(cause);
  if (last != said_.end() && now - last->second < kQuiet) return false;
  said_[cause] = now;
  log_warning("train", "{}", sentence);
  return true;
}

}  // namespace myxtts
