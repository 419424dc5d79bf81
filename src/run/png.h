// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// A picture of shades from 0 to 255, row by row from the top. Dark ones are drawn dark blue, light
// ones yellow.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> shades = {};  // width · height
};

// The picture as the bytes of a PNG file.
std::string png_of(const Picture& picture);

namespace detail {
// A zlib stream of the bytes in which runs of equal bytes are short and nothing else is.
std::string zlib_stream(std::string_view bytes);
}  // namespace detail

}  // namespace myxtts
