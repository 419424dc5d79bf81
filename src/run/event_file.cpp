// SPDX-License-Identifier: Apache-2.0
#include "run/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

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
enum class Wire : std::uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_key(std::string& out, std::uint32_t field, Wire wire) {
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
  put_key(out, field, Wire::Bytes);
  put_varint(out, bytes.size());
  out.append(bytes);
}

// The fields of tensorflow.Event: 1 wall_time, 2 step, 3 file_version, 5 summary.
std::string event_at(std::int64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  put_key(event, 1, Wire::Fixed64);
  put_fixed(event, std::chrono::duration<double>(now).count());
  put_key(event, 2, Wire::Varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

std::filesystem::path new_event_path(const std::filesystem::path& folder) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) std::strcpy(host.data(), "host");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return folder / fmt::format("events.out.tfevents.{:010}.{}.{}",
                              std::chrono::duration_cast<std::chrono::seconds>(now).count(),
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

EventFile::EventFile(const std::filesystem::path& folder) : path_(new_event_path(folder)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw DataError(fmt::format("{} cannot be made: {}.", path_.string(),
                                std::generic_category().message(errno)));
  }
  std::string event = event_at(0);
  put_bytes(event, 3, "brain.Event:2");
  append(event);
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

// Summary { 1: Value { 1: tag, 2: simple_value } }.
void EventFile::add_scalar(std::string_view name, std::int64_t step, double value) {
  std::string entry;
  put_bytes(entry, 1, name);
  put_key(entry, 2, Wire::Fixed32);
  put_fixed(entry, static_cast<float>(value));
  std::string summary;
  put_bytes(summary, 1, entry);
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

void EventFile::flush() {
  const std::string records = std::exchange(pending_, {});
  detail::write_all(file_, bytes_of(records), path_);
}

}  // namespace myxtts
