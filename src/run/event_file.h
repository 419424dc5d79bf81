// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// How often values of a kind occur, as TensorBoard draws it.
struct HistogramCounts {
  double least = 0;
  double most = 0;
  double count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> upper_bounds = {};  // of the ranges, ascending
  std::vector<double> counts = {};        // in each range
};

// Writes one of TensorBoard's event files: numbers by name and step, shown as curves; sounds and
// pictures too.
//
// A file is only ever appended to, record by record, and each record has its own checksums: what a
// killed process leaves behind is readable up to the last whole record. A resumed run begins
// another file, which makes TensorBoard forget what the files before hold of `first_step` and
// later. One thread at a time.
class EventFile {
 public:
  // Makes events.out.tfevents.<seconds>.<host>.<process> in `folder`; its seconds are later than
  // those of every file there, since TensorBoard reads files in the order of their names. Throws
  // DataError.
  explicit EventFile(const std::filesystem::path& folder, std::int64_t first_step = 0);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  void add_scalar(std::string_view name, std::int64_t step, double value);

  void add_histogram(std::string_view name, std::int64_t step, const HistogramCounts& counts);

  // A sound of one channel with so many samples, as the bytes of a WAV file.
  void add_sound(std::string_view name, std::int64_t step, std::int64_t sample_rate,
                 std::int64_t samples, std::string_view wav);

  // A picture as the bytes of a PNG file.
  void add_picture(std::string_view name, std::int64_t step, std::int64_t width,
                   std::int64_t height, std::string_view png);

  // Hands everything written so far to the system. Throws DataError when the disk refuses it: then
  // it is lost, and the file is as it was.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& event);
  void append_value(std::int64_t step, const std::string& value);

  std::filesystem::path path_;
  int file_ = -1;
  std::string pending_;        // whole records that were not handed over yet
  std::uint64_t written_ = 0;  // bytes that were
};

namespace detail {
// CRC-32C (Castagnoli), and TensorFlow's mask over it.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);
}  // namespace detail

}  // namespace myxtts
