// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/tar_archive.h"

#include <cstddef>
#include <utility>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::size_t kBlock = 512;

void put(std::string& header, std::size_t offset, std::string_view text) {
  header.replace(offset, text.size(), text);
}

unsigned byte_sum(const std::string& header) {
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  return sum;
}

std::string make_header(std::string_view name, std::size_t size) {
  std::string header(kBlock, '\0');
  put(header, 0, name);
  put(header, 100, "0000644");                     // mode
  put(header, 108, "0000000");                     // user
  put(header, 116, "0000000");                     // group
  put(header, 124, fmt::format("{:011o}", size));  // bytes
  put(header, 136, "00000000000");                 // time
  put(header, 148, "        ");                    // the sum is made with spaces in its place
  put(header, 156, "0");                           // an ordinary file
  put(header, 257, std::string_view("ustar\00000", 8));
  put(header, 148, fmt::format("{:06o}", byte_sum(header)));
  header[154] = '\0';
  return header;
}

}  // namespace

void TarArchive::add(std::string_view name, std::string_view content) {
  MYXTTS_CHECK(!name.empty() && name.size() <= 100, "{} is no name for a file in a tar", name);
  bytes_ += make_header(name, content.size());
  bytes_ += content;
  bytes_.append((kBlock - content.size() % kBlock) % kBlock, '\0');
}

std::string TarArchive::finish() && {
  bytes_.append(2 * kBlock, '\0');
  return std::move(bytes_);
}

}  // namespace myxtts
