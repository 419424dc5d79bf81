// SPDX-License-Identifier: Apache-2.0
#include "watch/metrics_reader.h"

#include <cmath>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace myxtts::test::metrics_reader_test {
namespace {

std::string train_line(std::int64_t step, const std::string& loss) {
  return R"({"event":"train","step":)" + std::to_string(step) + R"(,"loss":)" + loss + "}\n";
}

class Reader : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(file_, std::ios::binary) << text; }
  void add(const std::string& text) {
    std::ofstream(file_, std::ios::binary | std::ios::app) << text;
  }
  std::int64_t lines() const {
    const auto found = reader_.curves().find("train/loss");
    return found == reader_.curves().end() ? 0 : found->second.all().lines;
  }
  std::vector<CurveBucket> exact(std::int64_t from, std::int64_t to) const {
    const auto found = reader_.between(from, to, [](auto name) { return name == "train/loss"; });
    return found.contains("train/loss") ? found.at("train/loss") : std::vector<CurveBucket>();
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "metrics.jsonl";
  MetricsReader reader_{file_};
};

TEST_F(Reader, ReadsWhatWasAddedAndLeavesAHalfLineForTheNextLook) {
  reader_.look();
  EXPECT_FALSE(reader_.is_there());
  write(train_line(1, "2.5") + train_line(2, "null"));
  const std::string third = train_line(3, "0.30000000000000004");
  add(third.substr(0, 20));
  reader_.look();
  EXPECT_EQ(lines(), 2);
  add(third.substr(20));
  reader_.look();
  ASSERT_EQ(lines(), 3);
  const auto values = exact(1, 3);
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0].sum, 2.5);
  EXPECT_EQ(values[1].finite, 0);
  EXPECT_EQ(values[2].sum, 0.30000000000000004) << "the very value of the file";
  EXPECT_EQ(reader_.generation(), 0);
  EXPECT_EQ(reader_.damaged(), 0);
}

// What a resumed run does: it cuts the file and writes on, maybe beyond where it was.
TEST_F(Reader, AFileThatWasCutOrReplacedIsReadAnew) {
  write(train_line(1, "1") + train_line(2, "2") + train_line(3, "3"));
  reader_.look();
  write(train_line(1, "1") + train_line(2, "5"));
  reader_.look();
  EXPECT_EQ(lines(), 2);
  EXPECT_EQ(exact(2, 2).front().sum, 5);
  EXPECT_EQ(reader_.generation(), 1);
  write(train_line(1, "1") + train_line(2, "7") + train_line(3, "8") + train_line(4, "9"));
  reader_.look();
  EXPECT_EQ(lines(), 4);
  EXPECT_EQ(exact(2, 2).front().sum, 7);
  std::filesystem::remove(file_);
  reader_.look();
  EXPECT_EQ(lines(), 0);
}

TEST_F(Reader, LinesThatAreDamagedOrGoBackAreCountedAndLeftOut) {
  write("\n" + train_line(1, "1") + "garbage\n" + "[1,2]\n" + "{\"event\":\"train\"}\n" +
        "{\"step\":3}\n" + train_line(5, "5") + train_line(4, "4") +
        R"({"event":"train","step":6,"loss":{"nested":[1,2]},"lr":"text","ok":true})" + "\n" +
        R"({"event":"train","step":18446744073709551615,"loss":1})" + "\n" +
        std::string(2'000'000, 'x') + "\n" + train_line(7, "7"));
  reader_.look();
  EXPECT_EQ(lines(), 3);
  EXPECT_EQ(reader_.damaged(), 8);
  EXPECT_EQ(reader_.curves().at("train/ok").all().max, 1);
  EXPECT_FALSE(reader_.curves().contains("train/lr"));
  EXPECT_EQ(exact(7, 7).size(), 1U);
}

TEST_F(Reader, ZoomedInEveryLineIsThereAndZoomedOutMemoryStaysSmall) {
  constexpr std::int64_t kLines = 60'000;
  std::string text;
  for (std::int64_t step = 1; step <= kLines; ++step) {
    text += train_line(step, step == 31'416 ? "77" : std::to_string(step) + ".25");
    if (step % 1000 == 0) {
      text += R"({"event":"validation","step":)" + std::to_string(step) + ",\"loss\":1}\n";
    }
  }
  write(text);
  reader_.look();
  EXPECT_LE(reader_.curves().at("train/loss").buckets().size(), Curve::kMost);
  for (const auto& [from, to] : {std::pair<std::int64_t, std::int64_t>{1, 5},
                                 {31'400, 31'500},
                                 {50'000, 60'000},
                                 {59'999, 70'000}}) {
    const auto values = exact(from, to);
    ASSERT_EQ(values.size(), static_cast<std::size_t>(std::min(to, kLines) - from + 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto step = from + static_cast<std::int64_t>(i);
      ASSERT_EQ(values[i].first, step);
      ASSERT_EQ(values[i].sum, step == 31'416 ? 77 : static_cast<double>(step) + 0.25);
    }
  }
  const auto all = reader_.between(0, 1'000'000, [](auto) { return true; });
  EXPECT_EQ(all.at("validation/loss").size(), 60U) << "few values stay exact beside many";
  EXPECT_LE(all.at("train/loss").size(), Curve::kMost);
}

// Whatever somebody's file holds, looking at it ends, and what is whole in it is found.
TEST_F(Reader, OutlivesEveryMutationOfAFile) {
  std::string whole;
  for (int step = 1; step <= 200; ++step) whole += train_line(step, "1.5");
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    std::string text = whole;
    for (int change = 0; change < 5; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 50);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 80));
          break;
        default:
          text.resize(at + 1);
      }
    }
    write(text);
    MetricsReader reader(file_);
    reader.look();
    const auto known = reader.curves().find("train/loss");
    const std::int64_t lines = known == reader.curves().end() ? 0 : known->second.all().lines;
    const auto ends = static_cast<std::int64_t>(std::ranges::count(text, '\n'));
    EXPECT_LE(reader.damaged(), ends);
    EXPECT_GE(lines + reader.damaged() + 5, ends) << "five changes spoil five lines at most";
    const auto found =
        reader.between(std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max(), [](auto) { return true; });
    EXPECT_EQ(found.contains("train/loss") ? std::ssize(found.at("train/loss")) : 0, lines);
  }
}

}  // namespace
}  // namespace myxtts::test::metrics_reader_test
