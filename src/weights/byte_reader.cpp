// SPDX-License-Identifier: Apache-2.0
#include "weights/byte_reader.h"

namespace myxtts {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string shown(text.substr(0, kLongest));
  for (char& letter : shown) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code >= 0x7f) letter = '?';
  }
  return text.size() > kLongest ? shown + "..." : shown;
}

}  // namespace myxtts
