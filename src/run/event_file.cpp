// SPDX-License-Identifier: Apache-2.0
#include "run/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc32c_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0u);
    table[byte] = value;
  }
  return table;
}

// The wire format of protocol buffers, as far as an event needs it.
enum class WireType : std::uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, std::uint32_t field, WireType wire) {
  put_varint(out, field << 3 | static_cast<std::uint32_t>(wire));
}

template <typename T>
void put_fixed(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  out.append(bytes.data(), bytes.size());
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_key(out, field, WireType::Bytes);
  put_varint(out, bytes.size());
  out.append(bytes);
}

void put_number(std::string& out, std::uint32_t field, std::int64_t value) {
  put_key(out, field, WireType::Varint);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_double(std::string& out, std::uint32_t field, double value) {
  put_key(out, field, WireType::Fixed64);
  put_fixed(out, value);
}

void put_doubles(std::string& out, std::uint32_t field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) put_fixed(packed, value);
  put_bytes(out, field, packed);
}

// The fields of tensorflow.Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
std::string event_at(std::int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  put_key(event, 1, WireType::Fixed64);
  put_fixed(event, std::chrono::duration<double>(now).count());
  put_key(event, 2, WireType::Varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

constexpr std::int64_t kLastSecond = 9'999'999'999;  // that the name has digits for
constexpr std::string_view kEventPrefix = "events.out.tfevents.";

std::int64_t seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

// Now, or a second after the newest file of the folder: clocks can go back.
std::int64_t seconds_after_all(const std::filesystem::path& folder) {
  std::int64_t seconds = seconds_now();
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kEventPrefix)) continue;
    std::int64_t other = 0;
    std::from_chars(name.data() + kEventPrefix.size(), name.data() + name.size(), other);
    if (other < kLastSecond) seconds = std::max(seconds, other + 1);
  }
  return seconds;
}

std::filesystem::path new_event_path(const std::filesystem::path& folder) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) std::strcpy(host.data(), "host");
  return folder / fmt::format("{}{:010}.{}.{}", kEventPrefix, seconds_after_all(folder),
                              host.data(), ::getpid());
}

}  // namespace

namespace detail {

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_crc32c_table();
  std::uint32_t value = ~0u;
  for (const char byte : bytes) {
    value = kTable[(value ^ static_cast<unsigned char>(byte)) & 0xff] ^ (value >> 8);
  }
  return ~value;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

}  // namespace detail

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t first_step)
    : path_(new_event_path(folder)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw DataError(fmt::format("{} cannot be made: {}.", path_.string(),
                                std::generic_category().message(errno)));
  }
  std::string version = event_at(0);
  put_bytes(version, 3, "brain.Event:2");
  append(version);
  if (first_step > 0) {
    std::string restart = event_at(first_step);
    put_bytes(restart, 7, "\x08\x01");  // SessionLog { 1: status START }
    append(restart);
  }
  flush();
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error& error) {
    log_warning("run", "{}", error.what());
  }
  ::close(file_);
}

// Summary.Value { 1: tag, 2: simple_value }.
void EventFile::add_scalar(std::string_view name, std::int64_t step, double value) {
  std::string entry;
  put_bytes(entry, 1, name);
  put_key(entry, 2, WireType::Fixed32);
  put_fixed(entry, static_cast<float>(value));
  append_value(step, entry);
}

// Summary.Value { 1: tag, 5: HistogramProto { 1: min, 2: max, 3: num, 4: sum, 5: sum_squares,
// 6: bucket_limit, 7: bucket } }.
void EventFile::add_histogram(std::string_view name, std::int64_t step,
                              const HistogramCounts& counts) {
  std::string histogram;
  put_double(histogram, 1, counts.least);
  put_double(histogram, 2, counts.most);
  put_double(histogram, 3, counts.count);
  put_double(histogram, 4, counts.sum);
  put_double(histogram, 5, counts.sum_of_squares);
  put_doubles(histogram, 6, counts.upper_bounds);
  put_doubles(histogram, 7, counts.counts);
  std::string entry;
  put_bytes(entry, 1, name);
  put_bytes(entry, 5, histogram);
  append_value(step, entry);
}

// Summary.Value { 1: tag, 6: Audio { 1: sample_rate, 2: num_channels, 3: length_frames,
// 4: encoded_audio_string, 5: content_type } }.
void EventFile::add_sound(std::string_view name, std::int64_t step, std::int64_t sample_rate,
                          std::int64_t samples, std::string_view wav) {
  std::string audio;
  put_key(audio, 1, WireType::Fixed32);
  put_fixed(audio, static_cast<float>(sample_rate));
  put_number(audio, 2, 1);
  put_number(audio, 3, samples);
  put_bytes(audio, 4, wav);
  put_bytes(audio, 5, "audio/wav");
  std::string entry;
  put_bytes(entry, 1, name);
  put_bytes(entry, 6, audio);
  append_value(step, entry);
}

// Summary.Value { 1: tag, 4: Image { 1: height, 2: width, 3: colorspace, 4: encoded_image_string }
// }.
void EventFile::add_picture(std::string_view name, std::int64_t step, std::int64_t width,
                            std::int64_t height, std::string_view png) {
  constexpr std::int64_t kRgb = 3;
  std::string image;
  put_number(image, 1, height);
  put_number(image, 2, width);
  put_number(image, 3, kRgb);
  put_bytes(image, 4, png);
  std::string entry;
  put_bytes(entry, 1, name);
  put_bytes(entry, 4, image);
  append_value(step, entry);
}

void EventFile::append_value(std::int64_t step, const std::string& value) {
  std::string summary;
  put_bytes(summary, 1, value);
  std::string event = event_at(step);
  put_bytes(event, 5, summary);
  append(event);
}

// A record: length, its checksum, the event, its checksum.
void EventFile::append(const std::string& event) {
  std::string length;
  put_fixed(length, static_cast<std::uint64_t>(event.size()));
  pending_ += length;
  put_fixed(pending_, detail::masked_crc32c(length));
  pending_ += event;
  put_fixed(pending_, detail::masked_crc32c(event));
}

// Behind half a record nobody could read the next one, so a refused write is taken back.
void EventFile::flush() {
  const std::string records = std::exchange(pending_, {});
  try {
    detail::write_all(file_, bytes_of(records), path_);
  } catch (const DataError&) {
    if (::ftruncate(file_, static_cast<off_t>(written_)) != 0) {
      log_warning("run", "{} ends in half a record.", path_.string());
    }
    throw;
  }
  written_ += records.size();
}

}  // namespace myxtts
