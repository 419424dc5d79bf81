// SPDX-License-Identifier: Apache-2.0
#include "weights/zip.h"

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/message_text.h"
#include "weights/byte_reader.h"

namespace myxtts {

namespace zip {

constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kEndRecord64 = 0x06064b50;
constexpr std::uint32_t kEndLocator64 = 0x07064b50;

constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kEndRecordBytes = 22;
constexpr std::size_t kEndRecord64Bytes = 56;
constexpr std::size_t kEndLocator64Bytes = 20;

constexpr std::uint16_t kExtra64 = 1;           // the extra field that holds 64-bit sizes
constexpr std::uint16_t kSeeRecord64 = 0xffff;  // in a 16-bit count: it is in the 64-bit end record

}  // namespace zip

namespace {

struct CentralEntry {
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t checksum = 0;
  std::uint64_t stored_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header = 0;
  std::string_view name;
};

// Fields that do not fit 32 bits stand, in this order, in an extra field.
void read_extra64(ByteReader extra, CentralEntry& entry) {
  while (extra.remaining() >= 4) {
    const auto kind = extra.number<std::uint16_t>();
    ByteReader field(extra.take(extra.number<std::uint16_t>()), extra.subject());
    if (kind != zip::kExtra64) continue;
    for (std::uint64_t* value : {&entry.size, &entry.stored_size, &entry.header}) {
      if (*value == zip::kSeeExtra) *value = field.number<std::uint64_t>();
    }
  }
}

CentralEntry read_central_entry(ByteReader& reader) {
  if (reader.number<std::uint32_t>() != zip::kCentralHeader) {
    throw DataError(fmt::format("{} has a damaged list of entries.", reader.subject()));
  }
  CentralEntry entry;
  reader.take(4);  // versions
  entry.flags = reader.number<std::uint16_t>();
  entry.method = reader.number<std::uint16_t>();
  reader.take(4);  // time
  entry.checksum = reader.number<std::uint32_t>();
  entry.stored_size = reader.number<std::uint32_t>();
  entry.size = reader.number<std::uint32_t>();
  const auto name_size = reader.number<std::uint16_t>();
  const auto extra_size = reader.number<std::uint16_t>();
  const auto comment_size = reader.number<std::uint16_t>();
  reader.take(8);  // disk and attributes
  entry.header = reader.number<std::uint32_t>();
  entry.name = reader.text(name_size);
  read_extra64(ByteReader(reader.take(extra_size), reader.subject()), entry);
  reader.take(comment_size);
  return entry;
}

}  // namespace

ZipReader::ZipReader(std::span<const std::byte> archive, std::string subject)
    : archive_(archive), subject_(std::move(subject)) {
  read_directory();
  refuse_duplicates_and_overlaps();
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &ZipEntry::name);
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

void ZipReader::verify(const ZipEntry& entry) const {
  if (crc32(entry.bytes) != entry.checksum) {
    fail(fmt::format(
        "is damaged: the checksum of its entry '{}' does not match; fetch the file again",
        printable(entry.name)));
  }
}

// The end record is the archive's last part, before a comment of up to 65,535 bytes.
void ZipReader::read_directory() {
  constexpr std::size_t kLongestComment = 65535;
  if (archive_.size() < zip::kEndRecordBytes) fail("is too short for a zip archive");
  const std::size_t last = archive_.size() - zip::kEndRecordBytes;
  const std::size_t first = last - std::min(last, kLongestComment);
  for (std::size_t at = last + 1; at-- > first;) {
    ByteReader reader(archive_.subspan(at), subject_);
    if (reader.number<std::uint32_t>() != zip::kEndRecord) continue;
    reader.take(6);  // disks
    const auto count = reader.number<std::uint16_t>();
    const auto size = reader.number<std::uint32_t>();
    const auto offset = reader.number<std::uint32_t>();
    if (count == zip::kSeeRecord64 || size == zip::kSeeExtra || offset == zip::kSeeExtra) {
      return read_zip64_directory(at);
    }
    return read_entries(count, size, offset);
  }
  fail("is cut short or not a zip archive: it has no end record");
}

void ZipReader::read_zip64_directory(std::size_t end_record) {
  if (end_record < zip::kEndLocator64Bytes) fail("lacks the 64-bit end record it points to");
  ByteReader locator(archive_.subspan(end_record - zip::kEndLocator64Bytes), subject_);
  if (locator.number<std::uint32_t>() != zip::kEndLocator64) {
    fail("lacks the 64-bit end record it points to");
  }
  locator.take(4);  // disk
  const auto offset = locator.number<std::uint64_t>();
  if (offset > archive_.size()) fail("points to a 64-bit end record outside itself");
  ByteReader record(archive_.subspan(static_cast<std::size_t>(offset)), subject_);
  if (record.number<std::uint32_t>() != zip::kEndRecord64) fail("has a damaged 64-bit end record");
  record.take(28);  // size, versions, disks, the count on this disk
  const auto count = record.number<std::uint64_t>();
  const auto size = record.number<std::uint64_t>();
  read_entries(count, size, record.number<std::uint64_t>());
}

void ZipReader::read_entries(std::uint64_t count, std::uint64_t size, std::uint64_t offset) {
  if (offset > archive_.size() || size > archive_.size() - offset) {
    fail("has a list of entries that lies outside the file");
  }
  ByteReader reader(
      archive_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)), subject_);
  constexpr std::size_t kShortestEntry = 46;
  if (count > size / kShortestEntry) fail("has a damaged list of entries");
  entries_.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const CentralEntry entry = read_central_entry(reader);
    if (entry.method != 0 || entry.size != entry.stored_size) {
      fail(fmt::format("has a compressed entry '{}'; PyTorch stores entries as they are",
                       printable(entry.name)));
    }
    if ((entry.flags & 1) != 0) fail("has an encrypted entry");
    entries_.push_back(
        {entry.name, entry.checksum, locate(entry.name, entry.header, entry.size, offset)});
  }
}

// The content stands behind a second header, whose name must be the same one.
std::span<const std::byte> ZipReader::locate(std::string_view name, std::uint64_t header,
                                             std::uint64_t size, std::uint64_t limit) const {
  if (header > limit)
    fail(fmt::format("has an entry '{}' that lies outside the file", printable(name)));
  const std::size_t start = static_cast<std::size_t>(header);
  ByteReader reader(archive_.subspan(start, static_cast<std::size_t>(limit) - start), subject_);
  if (reader.number<std::uint32_t>() != zip::kLocalHeader) {
    fail(fmt::format("has no entry '{}' where its list says", printable(name)));
  }
  reader.take(22);  // what the list of entries repeats
  const auto name_size = reader.number<std::uint16_t>();
  const auto extra_size = reader.number<std::uint16_t>();
  if (reader.text(name_size) != name) {
    fail(fmt::format("has an entry whose two names differ ('{}')", printable(name)));
  }
  reader.take(extra_size);
  return reader.take(size);
}

void ZipReader::refuse_duplicates_and_overlaps() {
  std::ranges::sort(entries_, {}, [](const ZipEntry& entry) { return entry.bytes.data(); });
  const std::byte* end = archive_.data();
  for (const ZipEntry& entry : entries_) {
    // Between two contents stands at least the header of the second.
    if (entry.bytes.data() < end + zip::kLocalHeaderBytes) {
      fail(fmt::format("has an entry '{}' that overlaps another", printable(entry.name)));
    }
    end = entry.bytes.data() + entry.bytes.size();
  }
  std::ranges::sort(entries_, {}, &ZipEntry::name);
  const auto twice = std::ranges::adjacent_find(entries_, {}, &ZipEntry::name);
  if (twice != entries_.end()) {
    fail(fmt::format("has two entries of the name '{}'", printable(twice->name)));
  }
}

void ZipReader::fail(const std::string& what) const {
  throw DataError(fmt::format("{} {}.", subject_, what));
}

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
