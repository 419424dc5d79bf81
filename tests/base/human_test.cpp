// SPDX-License-Identifier: Apache-2.0
#include "base/message_text.h"

#include <chrono>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace myxtts::human_test {
namespace {

using namespace std::chrono_literals;

TEST(HumanSize, ShowsOneDecimalBelowHundredAndNoneAbove) {
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(999), "999 B");
  EXPECT_EQ(human_size(1000), "1.0 kB");
  EXPECT_EQ(human_size(1'867'929'118), "1.9 GB");
  EXPECT_EQ(human_size(12'345'678), "12.3 MB");
  EXPECT_EQ(human_size(530'400'000), "530 MB");
  EXPECT_EQ(human_size(3'000'000'000'000), "3.0 TB");
}

TEST(HumanSize, RoundsIntoTheNextUnitRatherThanToAThousand) {
  EXPECT_EQ(human_size(99'949), "99.9 kB");
  EXPECT_EQ(human_size(99'950), "100 kB");
  EXPECT_EQ(human_size(999'499), "999 kB");
  EXPECT_EQ(human_size(999'500), "1.0 MB");
  EXPECT_EQ(human_size(std::numeric_limits<std::int64_t>::max()), "9.2 EB");
}

TEST(HumanDuration, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(human_duration(0ns), "0 s");
  EXPECT_EQ(human_duration(120us), "120 µs");
  EXPECT_EQ(human_duration(450ms), "450 ms");
  EXPECT_EQ(human_duration(3240ms), "3.2 s");
  EXPECT_EQ(human_duration(42s), "42 s");
  EXPECT_EQ(human_duration(60s), "1 min 00 s");
  EXPECT_EQ(human_duration(200s), "3 min 20 s");
  EXPECT_EQ(human_duration(2h + 5min + 10s), "2 h 05 min");
  EXPECT_EQ(human_duration(76h), "3 d 04 h");
}

TEST(HumanDuration, RoundsIntoTheNextUnitRatherThanToItsLimit) {
  EXPECT_EQ(human_duration(999'499ns), "999 µs");
  EXPECT_EQ(human_duration(999'500ns), "1 ms");
  EXPECT_EQ(human_duration(999'500us), "1.0 s");
  EXPECT_EQ(human_duration(9'949ms), "9.9 s");
  EXPECT_EQ(human_duration(9'950ms), "10 s");
  EXPECT_EQ(human_duration(59'499ms), "59 s");
  EXPECT_EQ(human_duration(59'500ms), "1 min 00 s");
  EXPECT_EQ(human_duration(3'599'500ms), "1 h 00 min");
  EXPECT_EQ(human_duration(23h + 59min + 30s), "1 d 00 h");
  EXPECT_EQ(human_duration(1h + 29min + 29'600ms), "1 h 29 min");  // not rounded twice
}

TEST(HumanDuration, CarriesTheSignOfANegativeOne) {
  EXPECT_EQ(human_duration(-200s), "-3 min 20 s");
  EXPECT_EQ(human_duration(std::chrono::nanoseconds::min()), "-106752 d 00 h");
  EXPECT_EQ(human_duration(std::chrono::nanoseconds::max()), "106752 d 00 h");
}

TEST(HumanCount, GroupsThousands) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(1'234'567), "1,234,567");
  EXPECT_EQ(human_count(-100), "-100");
  EXPECT_EQ(human_count(-1000), "-1,000");
  EXPECT_EQ(human_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(HumanMilliseconds, NeverTurnsIntoAPowerOfTen) {
  EXPECT_EQ(human_milliseconds(0.00025), "0.25 ms");
  EXPECT_EQ(human_milliseconds(0.0123), "12.3 ms");
  EXPECT_EQ(human_milliseconds(0.107), "107 ms");
  EXPECT_EQ(human_milliseconds(0.9996), "1,000 ms");
  EXPECT_EQ(human_milliseconds(1.07), "1,070 ms");
}

TEST(Counted, OneIsNotMany) {
  EXPECT_EQ(counted(0, "clip"), "0 clips");
  EXPECT_EQ(counted(1, "clip"), "1 clip");
  EXPECT_EQ(counted(1234, "clip"), "1,234 clips");
  EXPECT_EQ(counted(2, "batch", "batches"), "2 batches");
  EXPECT_EQ(counted(1, "batch", "batches"), "1 batch");
}

TEST(ShellWord, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_word("runs/anna-1/latest"), "runs/anna-1/latest");
  EXPECT_EQ(shell_word("my runs"), "'my runs'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace myxtts::human_test
