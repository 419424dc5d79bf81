// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.h"
#include "http/request_error.h"

// What the fuzz targets share. A target is one file, NAME.cpp, with LLVMFuzzerTestOneInput(): it
// hands the input to one parser. docs/internals/endurance.md tells how to add one.
namespace myxtts::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

// Calls the parser. It may take the input or refuse it with a sentence for the user; any other
// exception is a fault of ours, and ends the program.
template <typename Parser>
int parse(const Parser& parser) {
  try {
    parser();
  } catch (const Error&) {
  } catch (const RequestError&) {
  }
  return 0;
}

// The input as a file that lives in memory. There is one of them: the next call changes it.
std::filesystem::path file_of(const std::uint8_t* data, std::size_t size);

// A folder in memory for parsers that look for names of their own. It is gone when the program
// ends.
const std::filesystem::path& folder();
void put_file(const std::filesystem::path& file, std::string_view content);

}  // namespace myxtts::fuzz
