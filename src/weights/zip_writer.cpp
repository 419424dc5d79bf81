// SPDX-License-Identifier: Apache-2.0
#include "weights/zip.h"

#include <concepts>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kVersion64 = 45;
constexpr std::uint16_t kFirstDay = 33;  // 1 January 1980, the format's first: files compare equal
constexpr std::uint16_t kPadding = 0x4246;    // the kind of extra field that PyTorch aligns with
constexpr std::size_t kExtraHeaderBytes = 4;  // kind and size
constexpr std::size_t kAlignment = 64;

template <std::integral Number>
void put(std::string& out, std::type_identity_t<Number> number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// What version, flags, method, time, checksum and sizes are in both headers of an entry.
void put_description(std::string& out, bool is_64, std::uint32_t checksum, std::uint32_t size) {
  put<std::uint16_t>(out, is_64 ? kVersion64 : kVersion);
  put<std::uint16_t>(out, 0);  // flags
  put<std::uint16_t>(out, 0);  // stored
  put<std::uint16_t>(out, 0);  // midnight
  put<std::uint16_t>(out, kFirstDay);
  put<std::uint32_t>(out, checksum);
  put<std::uint32_t>(out, size);
  put<std::uint32_t>(out, size);
}

}  // namespace

ZipWriter::ZipWriter(AtomicFile& file, std::uint64_t limit) : file_(file), limit_(limit) {}

void ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  Entry entry = {name, crc32(bytes), bytes.size(), file_.size()};
  file_.write(bytes_of(local_header(entry)));
  file_.write(bytes);
  entries_.push_back(std::move(entry));
}

std::string ZipWriter::local_header(const Entry& entry) const {
  std::string extra;
  const bool is_64 = entry.size >= limit_;
  if (is_64) {
    put<std::uint16_t>(extra, zip::kExtra64);
    put<std::uint16_t>(extra, 2 * sizeof(std::uint64_t));
    put<std::uint64_t>(extra, entry.size);
    put<std::uint64_t>(extra, entry.size);
  }
  const std::size_t before = static_cast<std::size_t>(entry.header % kAlignment) +
                             zip::kLocalHeaderBytes + entry.name.size() + extra.size() +
                             kExtraHeaderBytes;
  const std::size_t padding = (kAlignment - before % kAlignment) % kAlignment;
  put<std::uint16_t>(extra, kPadding);
  put<std::uint16_t>(extra, static_cast<std::uint16_t>(padding));
  extra.append(padding, '\0');

  std::string header;
  put<std::uint32_t>(header, zip::kLocalHeader);
  put_description(header, is_64, entry.checksum,
                  is_64 ? zip::kSeeExtra : static_cast<std::uint32_t>(entry.size));
  put<std::uint16_t>(header, static_cast<std::uint16_t>(entry.name.size()));
  put<std::uint16_t>(header, static_cast<std::uint16_t>(extra.size()));
  return header + entry.name + extra;
}

std::string ZipWriter::central_header(const Entry& entry) const {
  const bool large = entry.size >= limit_;
  const bool far = entry.header >= limit_;
  std::string values;
  if (large) {
    put<std::uint64_t>(values, entry.size);
    put<std::uint64_t>(values, entry.size);
  }
  if (far) put<std::uint64_t>(values, entry.header);
  std::string extra;
  if (!values.empty()) {
    put<std::uint16_t>(extra, zip::kExtra64);
    put<std::uint16_t>(extra, static_cast<std::uint16_t>(values.size()));
    extra += values;
  }

  std::string header;
  put<std::uint32_t>(header, zip::kCentralHeader);
  put<std::uint16_t>(header, kVersion64);
  put_description(header, large || far, entry.checksum,
                  large ? zip::kSeeExtra : static_cast<std::uint32_t>(entry.size));
  put<std::uint16_t>(header, static_cast<std::uint16_t>(entry.name.size()));
  put<std::uint16_t>(header, static_cast<std::uint16_t>(extra.size()));
  header.append(10, '\0');  // no comment, first disk, no attributes
  put<std::uint32_t>(header, far ? zip::kSeeExtra : static_cast<std::uint32_t>(entry.header));
  return header + entry.name + extra;
}

void ZipWriter::finish() {
  const std::uint64_t begin = file_.size();
  for (const Entry& entry : entries_) file_.write(bytes_of(central_header(entry)));
  file_.write(bytes_of(end_records(begin, file_.size())));
}

std::string ZipWriter::end_records(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t count = entries_.size();
  const bool is_64 = begin >= limit_ || end - begin >= limit_ || count >= zip::kSeeRecord64;
  std::string records;
  if (is_64) {
    put<std::uint32_t>(records, zip::kEndRecord64);
    put<std::uint64_t>(records, zip::kEndRecord64Bytes - 12);  // what follows this number
    put<std::uint16_t>(records, kVersion64);
    put<std::uint16_t>(records, kVersion64);
    records.append(8, '\0');  // first disk of one
    put<std::uint64_t>(records, count);
    put<std::uint64_t>(records, count);
    put<std::uint64_t>(records, end - begin);
    put<std::uint64_t>(records, begin);
    put<std::uint32_t>(records, zip::kEndLocator64);
    put<std::uint32_t>(records, 0);
    put<std::uint64_t>(records, end);
    put<std::uint32_t>(records, 1);
  }
  const auto count16 = is_64 ? zip::kSeeRecord64 : static_cast<std::uint16_t>(count);
  put<std::uint32_t>(records, zip::kEndRecord);
  put<std::uint32_t>(records, 0);  // first disk of one
  put<std::uint16_t>(records, count16);
  put<std::uint16_t>(records, count16);
  put<std::uint32_t>(records, is_64 ? zip::kSeeExtra : static_cast<std::uint32_t>(end - begin));
  put<std::uint32_t>(records, is_64 ? zip::kSeeExtra : static_cast<std::uint32_t>(begin));
  put<std::uint16_t>(records, 0);  // no comment
  return records;
}

}  // namespace myxtts
