// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "weights/pth.h"
#include "weights/sample_files.h"
#include "weights/zip.h"

namespace myxtts::test::hostile_archive_test {
namespace {

// An archive of one entry "a" with the content "hello", to be damaged.
std::string small_archive() {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x.zip");
  ZipWriter zip(file);
  zip.add("a", bytes_of("hello"));
  zip.add("b", bytes_of("world!"));
  zip.finish();
  file.commit();
  return contents_of(folder / "x.zip");
}

std::string open(std::string archive) {
  return refusal([&] {
    const ZipReader reader(bytes_of(archive), "x.zip");
    for (const ZipEntry& entry : reader.entries()) reader.verify(entry);
  });
}

// Changes one field, counted from the first header with this signature.
template <typename Number>
std::string changed(std::string archive, const char* signature, std::size_t offset, Number value) {
  const std::size_t header = archive.find(std::string(signature, 4));
  archive.replace(header + offset, sizeof value, reinterpret_cast<const char*>(&value),
                  sizeof value);
  return archive;
}

constexpr const char* kLocal = "PK\3\4";
constexpr const char* kCentral = "PK\1\2";
constexpr const char* kEnd = "PK\5\6";

TEST(HostileArchive, TheUndamagedOneIsRead) {
  EXPECT_EQ(open(small_archive()), "");
}

TEST(HostileArchive, CompressedEntriesAreRefusedSoNoBombCanUnfold) {
  const auto message = open(changed<std::uint16_t>(small_archive(), kCentral, 10, 8));
  EXPECT_NE(message.find("compressed"), std::string::npos) << message;
  EXPECT_NE(open(changed<std::uint32_t>(small_archive(), kCentral, 24, 4'000'000'000)), "");
}

TEST(HostileArchive, ContentThatWasChangedIsRefused) {
  std::string archive = small_archive();
  archive[archive.find("hello")] = 'j';
  EXPECT_NE(open(archive).find("checksum"), std::string::npos);
}

TEST(HostileArchive, PlacesAndSizesOutsideTheFileAreRefused) {
  const std::string archive = small_archive();
  EXPECT_NE(open(changed<std::uint32_t>(archive, kCentral, 42, 1'000'000)), "");
  EXPECT_NE(open(changed<std::uint32_t>(archive, kEnd, 16, 1'000'000)), "");
  EXPECT_NE(open(changed<std::uint32_t>(archive, kEnd, 12, 1'000'000)), "");
  EXPECT_NE(open(changed<std::uint16_t>(archive, kEnd, 10, 60'000)), "");
  EXPECT_NE(open(changed<std::uint16_t>(archive, kLocal, 28, 60'000)), "");
  EXPECT_NE(open(changed<std::uint32_t>(archive, kEnd, 16, 0xffffffff)), "") << "no zip64 record";
}

TEST(HostileArchive, EntriesThatOverlapAreRefused) {
  // The second entry of the list is moved onto the first one's content.
  std::string archive = small_archive();
  const std::size_t second = archive.find("PK\1\2", archive.find("PK\1\2") + 1);
  archive.replace(second + 42, 4, std::string(4, '\0'));
  archive.replace(second + 46, 1, "a");
  EXPECT_NE(open(archive), "");
}

TEST(HostileArchive, AFileOfTheOldFormatIsRefusedWithWhatToDo) {
  const TemporaryFolder folder;
  write_file(folder / "old.pth", std::string("\x80\x02\x8a\x0a", 4) + "lfc");
  const auto message = refusal([&] { PthReader reader(folder / "old.pth"); });
  EXPECT_NE(message.find("1.6"), std::string::npos) << message;
}

TEST(HostileArchive, ABigEndianFileIsRefused) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x.pth");
  ZipWriter zip(file);
  zip.add("archive/data.pkl", bytes_of("\x80\x02N."));
  zip.add("archive/byteorder", bytes_of("big"));
  zip.finish();
  file.commit();
  EXPECT_NE(refusal([&] { PthReader reader(folder / "x.pth"); }).find("big-endian"),
            std::string::npos);
}

}  // namespace
}  // namespace myxtts::test::hostile_archive_test
