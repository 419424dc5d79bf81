// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <string_view>

namespace myxtts::detail {

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  // From src/ on, so that a report does not carry the path of the machine it was built on.
  std::string_view where = file;
  if (const auto src = where.rfind("src/"); src != std::string_view::npos) where.remove_prefix(src);
  throw InternalError(fmt::format("{} ({}:{}: {})", message, where, line, condition));
}

}  // namespace myxtts::detail
