// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "weights/dtype.h"

namespace myxtts {

// The JSON object a safetensors file begins with.
struct SafetensorsHeader {
  struct Entry {
    Dtype dtype = Dtype::F32;
    Shape shape;
    std::uint64_t begin = 0;  // bytes from the end of the header
    std::uint64_t end = 0;
  };

  std::map<std::string, Entry, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
};

// Reads the header as it streams by, without building a document of it, so that a hostile one
// cannot ask for more memory than a true one of its size. Throws DataError; `subject` opens every
// message.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& subject);

// Checks that each tensor has the bytes its shape needs and that all of them fill `data_bytes`
// without gap or overlap. Throws DataError.
void check_layout(const SafetensorsHeader& header, std::uint64_t data_bytes,
                  const std::string& subject);

// Compact JSON, padded with spaces to a multiple of 64 bytes less the 8 of its length.
std::string print_safetensors_header(const SafetensorsHeader& header);

}  // namespace myxtts
