// SPDX-License-Identifier: Apache-2.0
#include "model/attention.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "config/model.h"
#include "gpt_golden.h"

namespace myxtts::test::text_guide_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kWidth = 8;  // of a head

class TextGuide : public ::testing::Test {
 protected:
  GptBatch pack(const RowSizes& sizes = {}) const {
    return to_batch(pack_rows(config_, views(golden_clips()), PromptMask::None, sizes), c10::kCPU);
  }

  at::Tensor random_qkv(const GptBatch& batch) const {
    at::manual_seed(3);
    return at::randn({batch.tokens.size(0), 3 * kHeads * kWidth});
  }

  GuideSums guide(const at::Tensor& qkv, const GptBatch& batch, std::int64_t head = 1) const {
    return text_guide(qkv, kHeads, head, config_.text_positions(), batch);
  }

  double mean(const at::Tensor& qkv, const GptBatch& batch) const {
    const auto sums = guide(qkv, batch);
    return (sums.sum / sums.count).item<double>();
  }

  // Tokens of one row: those of its text and of its codes, as indices into the packed batch.
  struct Row {
    std::int64_t first = 0;
    std::vector<std::int64_t> text;
    std::vector<std::int64_t> codes;
  };

  std::vector<Row> rows_of(const GptBatch& batch) const {
    const auto* position = batch.positions.const_data_ptr<std::int64_t>();
    const auto* end = batch.segment_ends.const_data_ptr<std::int32_t>();
    std::vector<Row> rows;
    for (std::int64_t clip = 0; clip < batch.clips; ++clip) {
      Row row;
      row.first = end[clip];
      for (std::int64_t token = end[clip]; token < end[clip + 1]; ++token) {
        if (position[token] == 0) continue;
        (position[token] > config_.text_positions() ? row.codes : row.text).push_back(token);
      }
      rows.push_back(row);
    }
    return rows;
  }

  // Code after code, as the note says it, in double precision.
  double by_hand(const at::Tensor& qkv, const GptBatch& batch) const {
    const auto split = qkv.to(at::kDouble).view({-1, 3, kHeads, kWidth}).select(2, 1);
    double sum = 0;
    for (const Row& row : rows_of(batch)) {
      for (std::size_t i = 0; i < row.codes.size(); ++i) {
        const std::int64_t seen = row.codes[i] - row.first + 1;
        const auto keys = split.select(1, 1).narrow(0, row.first, seen);
        const auto given =
            (keys.matmul(split[row.codes[i]][0]) / std::sqrt(double{kWidth})).softmax(0);
        sum -= std::log(near_text(given, row, i));
      }
    }
    return sum;
  }

  static double near_text(const at::Tensor& given, const Row& row, std::size_t code) {
    const auto through = [](std::size_t place, std::size_t count) {
      return (static_cast<double>(place) + 0.5) / static_cast<double>(count);
    };
    const double token = 1.0 / static_cast<double>(row.text.size());
    const double spread = 0.1 * 0.1 + token * token;
    double found = 0;
    for (std::size_t j = 0; j < row.text.size(); ++j) {
      const double apart = through(code, row.codes.size()) - through(j, row.text.size());
      found +=
          given[row.text[j] - row.first].item<double>() * std::exp(-apart * apart / (2 * spread));
    }
    return found;
  }

  // Queries and keys of head 1 by which each code looks at one place of its text alone.
  at::Tensor looking_at(const GptBatch& batch, bool from_behind) const {
    auto qkv = at::zeros({batch.tokens.size(0), 3, kHeads, kWidth});
    const auto towards = [](double angle) {
      return at::tensor({std::cos(angle), std::sin(angle)}, at::kFloat) * 40.0;
    };
    for (const Row& row : rows_of(batch)) {
      for (std::size_t j = 0; j < row.text.size(); ++j) {
        const double place = static_cast<double>(j) / static_cast<double>(row.text.size());
        qkv[row.text[j]][1][1].narrow(0, 0, 2).copy_(towards(3 * place));
      }
      for (std::size_t i = 0; i < row.codes.size(); ++i) {
        const double place = static_cast<double>(i) / static_cast<double>(row.codes.size());
        qkv[row.codes[i]][0][1].narrow(0, 0, 2).copy_(
            towards(3 * (from_behind ? 1 - place : place)));
      }
    }
    return qkv.view({batch.tokens.size(0), -1});
  }

  const GptConfig config_ = golden_gpt_config();
  const RowSizes padded_ = {.tokens = 256, .text_targets = 64, .audio_targets = 96, .longest = 128};
};

TEST_F(TextGuide, IsTheSumOverCodesOfWhatEachMisses) {
  const auto batch = pack();
  const auto qkv = random_qkv(batch);
  std::size_t codes = 0;
  for (const Row& row : rows_of(batch)) codes += row.codes.size();
  const auto sums = guide(qkv, batch);
  EXPECT_EQ(sums.count.item<double>(), static_cast<double>(codes));
  EXPECT_NEAR(sums.sum.item<double>() / by_hand(qkv, batch), 1.0, 1e-5);
}

TEST_F(TextGuide, PaddingChangesNothing) {
  const auto batch = pack(padded_);
  const auto qkv = random_qkv(batch);
  EXPECT_NEAR(guide(qkv, batch).sum.item<double>() / by_hand(qkv, batch), 1.0, 1e-5);
}

TEST_F(TextGuide, IsSmallWhereAHeadFollowsTheTextAndLargeWhereItGoesBackwards) {
  const auto batch = pack();
  EXPECT_LT(mean(looking_at(batch, false), batch), 0.4);
  EXPECT_GT(mean(looking_at(batch, true), batch), 1.5);
}

TEST_F(TextGuide, TeachesQueriesAndKeysOfItsHeadAlone) {
  const auto batch = pack();
  auto qkv = random_qkv(batch).requires_grad_();
  guide(qkv, batch).sum.backward();
  const auto gradient = qkv.grad().view({-1, 3, kHeads, kWidth});
  EXPECT_GT(gradient.select(2, 1).select(1, 0).abs().max().item<double>(), 0.0);
  EXPECT_GT(gradient.select(2, 1).select(1, 1).abs().max().item<double>(), 0.0);
  EXPECT_EQ(gradient.select(2, 0).abs().max().item<double>(), 0.0);
  EXPECT_EQ(gradient.select(1, 2).abs().max().item<double>(), 0.0);
}

}  // namespace
}  // namespace myxtts::test::text_guide_test
