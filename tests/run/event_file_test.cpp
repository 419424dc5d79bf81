// SPDX-License-Identifier: Apache-2.0
#include "run/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::event_file_test {
namespace {

using test::contents_of;
using test::SmallDisk;
using test::TemporaryFolder;

template <typename T>
T number_at(const std::string& bytes, std::size_t place) {
  T value;
  std::memcpy(&value, bytes.data() + place, sizeof(T));
  return value;
}

// The events of a file; checks both checksums of every record on the way.
std::vector<std::string> events_of(const std::string& bytes) {
  std::vector<std::string> events;
  for (std::size_t place = 0; place < bytes.size();) {
    const auto length = number_at<std::uint64_t>(bytes, place);
    EXPECT_EQ(number_at<std::uint32_t>(bytes, place + 8),
              detail::masked_crc32c(bytes.substr(place, 8)));
    events.push_back(bytes.substr(place + 12, length));
    EXPECT_EQ(number_at<std::uint32_t>(bytes, place + 12 + length),
              detail::masked_crc32c(events.back()));
    place += 16 + length;
  }
  return events;
}

TEST(EventFile, ChecksumsAreThoseOfThePublishedExamples) {
  EXPECT_EQ(detail::crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(detail::crc32c(std::string(32, '\0')), 0x8a9136aau);
}

TEST(EventFile, BeginsWithTheVersionAndHoldsEachScalar) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  file.add_scalar("loss", 300, 2.5);
  file.flush();
  const auto events = events_of(contents_of(file.path()));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_NE(events[0].find("brain.Event:2"), std::string::npos);
  // step 300 as a varint, then summary { value { tag "loss", simple_value 2.5 } }
  const std::string expected{"\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x20\x40", 18};
  EXPECT_EQ(events[1].substr(9), expected);
}

TEST(EventFile, AResumedRunTellsTensorBoardToForgetItsSteps) {
  const TemporaryFolder folder;
  const EventFile file(folder.path(), 300);
  const auto events = events_of(contents_of(file.path()));
  ASSERT_EQ(events.size(), 2u);
  // step 300, then session_log { status START }
  EXPECT_EQ(events[1].substr(9), std::string("\x10\xac\x02\x3a\x02\x08\x01", 7));
}

TEST(EventFile, EachFileComesAfterThoseThatAreThereWhateverTheClockSays) {
  const TemporaryFolder folder;
  std::ofstream(folder / "events.out.tfevents.8000000000.host.1") << "";
  const EventFile one(folder.path());
  const EventFile two(folder.path());
  EXPECT_TRUE(one.path().filename().string().starts_with("events.out.tfevents.8000000001."));
  EXPECT_TRUE(two.path().filename().string().starts_with("events.out.tfevents.8000000002."));
}

TEST(EventFile, AHistogramHasItsRangesAndCounts) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  file.add_histogram("w", 1,
                     {.least = 1, .most = 2, .count = 3, .upper_bounds = {2}, .counts = {3}});
  file.flush();
  const auto events = events_of(contents_of(file.path()));
  ASSERT_EQ(events.size(), 2u);
  // Value { tag "w", histo { 5 doubles, 2 packed lists of one } }
  EXPECT_EQ(events[1].substr(11, 8), std::string("\x2a\x48\x0a\x46\x0a\x01w\x2a", 8));
  EXPECT_EQ(number_at<double>(events[1], 21), 1.0);
  EXPECT_EQ(number_at<double>(events[1], events[1].size() - 8), 3.0);
}

TEST(EventFile, ASoundHasItsRateItsLengthAndItsBytes) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  file.add_sound("s", 1, 24000, 300, "RIFF");
  file.flush();
  const auto events = events_of(contents_of(file.path()));
  ASSERT_EQ(events.size(), 2u);
  // Value { tag "s", audio { 24000.0, 1 channel, 300 samples, bytes, content type } }
  const std::string expected{
      "\x0a\x01s\x32\x1b\x0d\x00\x80\xbb\x46\x10\x01\x18\xac\x02\x22\x04RIFF\x2a\x09"
      "audio/wav",
      32};
  EXPECT_EQ(events[1].substr(events[1].size() - 32), expected);
}

TEST(EventFile, APictureHasItsSizeAndItsBytes) {
  const TemporaryFolder folder;
  EventFile file(folder.path());
  file.add_picture("p", 1, 300, 2, "PNG!");
  file.flush();
  const auto events = events_of(contents_of(file.path()));
  ASSERT_EQ(events.size(), 2u);
  // Value { tag "p", image { height 2, width 300, colorspace 3, bytes } }
  const std::string expected{"\x0a\x01p\x22\x0d\x08\x02\x10\xac\x02\x18\x03\x22\x04PNG!", 18};
  EXPECT_EQ(events[1].substr(events[1].size() - 18), expected);
}

TEST(EventFile, WhatADiskRefusesLeavesNoHalfRecord) {
  const SmallDisk disk(16);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 16 kB";
  EventFile file(disk.path());
  std::ofstream(disk / "filler") << std::string(100'000, 'x');
  for (int step = 0; step < 1000; ++step) file.add_scalar("loss", step, 1.0);
  EXPECT_THROW(file.flush(), DataError);
  EXPECT_EQ(events_of(contents_of(file.path())).size(), 1u);
  std::filesystem::remove(disk / "filler");
  file.add_scalar("loss", 7, 1.0);
  file.flush();
  EXPECT_EQ(events_of(contents_of(file.path())).size(), 2u);
}

TEST(EventFile, AFolderThatIsNotThereIsSaid) {
  EXPECT_THROW(EventFile("/dev/null/folder"), DataError);
}

}  // namespace
}  // namespace myxtts::event_file_test
