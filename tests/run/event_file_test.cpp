// SPDX-License-Identifier: Apache-2.0
#include "run/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts {
namespace {

using test::contents_of;
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

TEST(EventFile, AFolderThatIsNotThereIsSaid) {
  EXPECT_THROW(EventFile("/nonexistent/folder"), DataError);
}

}  // namespace
}  // namespace myxtts
