// SPDX-License-Identifier: Apache-2.0
#include "synth/beam_search.h"

#include <map>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/golden.h"

namespace myxtts::beam_search_test {
namespace {

constexpr std::int64_t kIds = 12;
constexpr std::int64_t kMost = 30;

GptConfig config_of_golden() {
  GptConfig config;
  config.audio_ids = kIds;
  config.start_audio = kIds - 2;
  config.stop_audio = kIds - 1;
  return config;
}

// The network of the golden file: logits follow from the step and the last code.
Beam search(const at::Tensor& table, const SamplingSettings& settings, std::uint32_t number = 0) {
  BeamSearch beams(config_of_golden(), settings, kMost, number);
  std::vector<std::int64_t> last(static_cast<std::size_t>(settings.beams), kIds - 2);
  for (std::int64_t step = 0; !beams.ended(); ++step) {
    auto logits = at::empty({settings.beams, kIds}, at::kFloat);
    for (std::int64_t row = 0; row < settings.beams; ++row) {
      logits[row].copy_(table[step % table.size(0)][last[static_cast<std::size_t>(row)]]);
    }
    beams.advance({logits.mutable_data_ptr<float>(), static_cast<std::size_t>(logits.numel())});
    last = beams.codes();
  }
  return beams.best();
}

TEST(BeamSearch, FindsThePeersSequences) {
  const auto golden = test::read_golden("synth/beams.safetensors");
  const std::vector<SamplingSettings> cases = {
      {.repetition_penalty = 1.0, .length_penalty = 1.0, .beams = 2},
      {.repetition_penalty = 5.0, .length_penalty = 1.0, .beams = 3},
      {.repetition_penalty = 1.0, .length_penalty = 0.0, .beams = 4},
      {.repetition_penalty = 2.0, .length_penalty = 2.0, .beams = 3},
      {.repetition_penalty = 5.0, .length_penalty = -1.0, .beams = 3}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto settings = cases[i];
    settings.greedy = true;
    const auto& expected = golden.at(fmt::format("codes.{}", i));
    const auto found = search(golden.at("table"), settings);
    EXPECT_TRUE(at::tensor(found.codes, at::kLong).equal(expected)) << i;
    EXPECT_EQ(found.codes.size(), found.rows.size());
  }
}

// Two beams, one step: {a, b, c, d} drawn without putting back in pairs of the first two. The
// chance that the first drawn is the likeliest is its probability.
TEST(BeamSearch, SamplingDrawsByProbability) {
  const auto table = at::full({1, kIds, kIds}, -30.0F);
  table.select(2, 3).fill_(std::log(0.6F));
  table.select(2, 4).fill_(std::log(0.4F));
  table.select(2, kIds - 1).fill_(std::log(0.0001F));
  std::map<std::int64_t, int> first;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const SamplingSettings settings{.temperature = 1.0,
                                    .top_k = 0,
                                    .top_p = 1.0,
                                    .repetition_penalty = 1.0,
                                    .beams = 2,
                                    .seed = static_cast<std::uint64_t>(i)};
    BeamSearch beams(config_of_golden(), settings, 1, 0);
    auto logits = table[0].narrow(0, 0, 2).clone();
    beams.advance({logits.mutable_data_ptr<float>(), static_cast<std::size_t>(logits.numel())});
    EXPECT_TRUE(beams.ended());
    ++first[beams.best().codes.front()];
  }
  // Both are finished in nearly every search and the better wins; only an early stop code can
  // push one out. So the likeliest wins nearly always, and never with certainty is it absent.
  EXPECT_GT(first[3], kDraws * 9 / 10);
}

TEST(BeamSearch, TheSameSeedSearchesTheSameWay) {
  const auto table = test::read_golden("synth/beams.safetensors").at("table");
  const SamplingSettings settings{.beams = 3, .seed = 4};
  EXPECT_EQ(search(table, settings).codes, search(table, settings).codes);
  bool differs = false;
  for (std::uint32_t number = 1; number < 6; ++number) {
    differs = differs || search(table, settings, number).codes != search(table, settings).codes;
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace myxtts::beam_search_test
