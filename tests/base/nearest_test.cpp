// SPDX-License-Identifier: Apache-2.0
#include "base/message_text.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::nearest_test {
namespace {

const std::vector<std::string> kFlags{"--batch-size", "--buffer-size", "--data-gpu", "--model-gpu",
                                      "--epochs",     "--lr",          "--seed",     "--mode"};

TEST(Nearest, ASlipOfTheKeyboardFindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest_name("--bach-size", kFlags), "--batch-size");   // left out
  EXPECT_EQ(nearest_name("--epochss", kFlags), "--epochs");         // added
  EXPECT_EQ(nearest_name("--data-gpo", kFlags), "--data-gpu");      // replaced
  EXPECT_EQ(nearest_name("--btach-size", kFlags), "--batch-size");  // swapped
  EXPECT_EQ(nearest_name("--batchsise", kFlags), "--batch-size");   // two slips
  EXPECT_EQ(nearest_name("", std::vector<std::string>{}), std::nullopt);
}

TEST(Nearest, SwappedNeighboursCountAsOneSlip) {
  // As two replacements, "sede" would be too far from "seed" to be offered.
  EXPECT_EQ(nearest_name("sede", std::vector<std::string>{"node", "seed"}), "seed");
  EXPECT_EQ(nearest_name("rl", std::vector<std::string>{"lr"}), "lr");
}

TEST(Nearest, CaseAndKindOfDashDoNotCount) {
  EXPECT_EQ(nearest_name("--BATCH_SIZE", kFlags), "--batch-size");
  EXPECT_EQ(nearest_name("Train", std::vector<std::string>{"train"}), "train");
  EXPECT_EQ(nearest_name("data-gpu", std::vector<std::string>{"DATA_GPU"}), "DATA_GPU");
}

TEST(Nearest, ANameUnlikeAllOthersFindsNothing) {
  EXPECT_EQ(nearest_name("--colour-scheme", kFlags), std::nullopt);
  EXPECT_EQ(nearest_name("", kFlags), std::nullopt);
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{"y"}), std::nullopt);
  EXPECT_EQ(nearest_name("abcd", std::vector<std::string>{"abxy"}), std::nullopt);
}

TEST(Nearest, TheNearestWinsAndOfEquallyNearOnesTheFirst) {
  EXPECT_EQ(nearest_name("mide", std::vector<std::string>{"made", "mode"}), "made");
  EXPECT_EQ(nearest_name("trains", std::vector<std::string>{"brains", "trains"}), "trains");
  EXPECT_EQ(nearest_name("buffer-sizes", std::vector<std::string>{"batch-sizes", "buffer-size"}),
            "buffer-size");
}

}  // namespace
}  // namespace myxtts::nearest_test
