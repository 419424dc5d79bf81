// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace myxtts {

// Builds a tar archive in memory (POSIX ustar): files only, owned by nobody, dated at the epoch, so
// that it carries nothing about who made it.
class TarArchive {
 public:
  // `name` is a relative path of at most 100 bytes.
  void add(std::string_view name, std::string_view content);

  // The whole archive. Nothing may be added afterwards.
  std::string finish() &&;

 private:
  std::string bytes_;
};

}  // namespace myxtts
