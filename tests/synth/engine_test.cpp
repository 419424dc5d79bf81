// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/gpt.h"
#include "model/gpt_rows.h"
#include "model/named_tensors.h"
#include "support/golden.h"
#include "synth/cpu/cpu_gpt.h"
#include "synth/decode_engine.h"
#include "synth/small_engine.h"

namespace myxtts::engine_test {
namespace {

constexpr double kTolerance = 2e-5;

// A GPT whose heads fill no vector, so that what is filled up matters.
class Engine : public SmallEngine {
 protected:
  // What the training network says of a row when all its codes are known.
  std::pair<at::Tensor, at::Tensor> expected(const DecodePrefix& prefix,
                                             const std::vector<std::int64_t>& codes) const {
    const Gpt gpt(config_, weights_);
    const std::vector<GptClip> clips = {{prefix.text, codes}};
    const auto batch = to_batch(pack_latent_rows(config_, clips), c10::kCPU);
    const auto states = gpt.states(batch, prefix.latents.unsqueeze(0));
    const auto n = static_cast<std::int64_t>(codes.size());
    const auto audio = states.narrow(0, states.size(0) - n, n);
    return {audio, at::linear(audio, weights_.at("gpt.mel_head.weight"),
                              weights_.at("gpt.mel_head.bias"))};
  }
};

TEST_F(Engine, StepsGiveWhatTheWholeSequenceGives) {
  const std::vector<std::int64_t> short_text = {3, 4, 5};
  const std::vector<std::int64_t> long_text = {9, 8, 7, 6, 5, 4, 3, 2, 1, 10, 11};
  const std::vector<DecodePrefix> rows = {prefix(short_text), prefix(long_text)};
  const std::vector<std::vector<std::int64_t>> codes = {{1, 2, 3, 250, 5, 6, 7}, {9, 8, 7}};
  const auto engine = make_decode_engine(config_, weights_, {.rows = 2}, c10::kCPU);
  std::vector<std::vector<at::Tensor>> states(2);
  std::vector<std::vector<at::Tensor>> logits(2);
  engine->begin(rows);
  for (std::size_t step = 0; step < codes[0].size(); ++step) {
    std::vector<std::int64_t> inputs;
    for (std::size_t row = 0; row < 2; ++row) {
      const bool live = step < codes[row].size();
      if (live) {
        states[row].push_back(engine->states()[static_cast<std::int64_t>(row)].clone());
        logits[row].push_back(engine->logits()[static_cast<std::int64_t>(row)].clone());
      }
      inputs.push_back(live ? codes[row][step] : DecodeEngine::kEnded);
    }
    engine->step(inputs);
  }
  for (std::size_t row = 0; row < 2; ++row) {
    const auto [expected_states, expected_logits] = expected(rows[row], codes[row]);
    EXPECT_LT(test::max_abs_difference(at::stack(states[row]), expected_states), kTolerance);
    EXPECT_LT(test::max_abs_difference(at::stack(logits[row]), expected_logits), kTolerance);
  }
}

TEST_F(Engine, AReorderedRowGoesOnAsTheOneItIsACopyOf) {
  const std::vector<std::int64_t> first = {3, 4, 5};
  const std::vector<std::int64_t> second = {6, 7};
  const std::vector<DecodePrefix> rows = {prefix(first), prefix(second), prefix(second)};
  const auto engine = make_decode_engine(config_, weights_, {.rows = 3}, c10::kCPU);
  engine->begin(rows);
  engine->step(std::vector<std::int64_t>{10, 20, 30});
  engine->reorder(std::vector<std::int64_t>{1, 1, 0});
  engine->step(std::vector<std::int64_t>{11, 21, 31});
  engine->reorder(std::vector<std::int64_t>{2, 0, 1});
  engine->step(std::vector<std::int64_t>{12, 22, 32});
  const auto check = [&](std::int64_t row, const DecodePrefix& from,
                         const std::vector<std::int64_t>& codes) {
    const auto states = expected(from, codes).first;
    EXPECT_LT(test::max_abs_difference(engine->states()[row], states[-1]), kTolerance) << row;
  };
  check(0, rows[0], {10, 31, 12, 0});  // the last code is not seen by the state that predicts it
  check(1, rows[1], {20, 11, 22, 0});
  check(2, rows[1], {20, 21, 32, 0});
}

TEST_F(Engine, OneThreadAndThreeGiveTheSameBits) {
  const auto embeddings = at::randn({6, config_.width});
  const auto run = [&](std::size_t threads) {
    CpuGpt layers(
        config_,
        [&](const std::string& name) {
          return weights_.at(kGptPrefix + name).const_data_ptr<float>();
        },
        /*rows=*/1, /*positions=*/6, threads);
    std::vector<float> logits;
    for (std::int64_t step = 0; step < embeddings.size(0); ++step) {
      const std::vector<CpuGpt::Input> inputs = {
          {0, static_cast<std::size_t>(step), embeddings[step].const_data_ptr<float>()}};
      layers.step(inputs);
      logits.insert(logits.end(), layers.logits(0), layers.logits(0) + config_.audio_ids);
    }
    return logits;
  };
  EXPECT_EQ(run(1), run(3));
}

TEST_F(Engine, ARowIsTheSameAloneAndAmongOthers) {
  const std::vector<std::int64_t> first = {3, 4, 5, 6};
  const std::vector<std::int64_t> second = {13, 14};
  const std::vector<DecodePrefix> rows = {prefix(first, 0), prefix(second, 1)};
  const auto engine = make_decode_engine(config_, weights_, {.rows = 2, .codes = 40}, c10::kCPU);
  const auto both = engine->generate(rows, {.seed = 9}, {});
  const auto alone = engine->generate(std::span(rows).subspan(1), {.seed = 9}, {});
  EXPECT_EQ(both[1].codes, alone[0].codes);
  EXPECT_NE(both[0].codes, both[1].codes);
  const auto other = engine->generate(rows, {.seed = 10}, {});
  EXPECT_NE(other[1].codes, both[1].codes);
}

TEST_F(Engine, AThousandSchedulesOfRowsThatComeAndGoGiveEachTheCodesItHasAlone) {
  weights_.at("gpt.mel_head.bias")[config_.stop_audio] = 1.5;  // so that lengths differ
  const auto engine = make_decode_engine(config_, weights_, {.rows = 5, .codes = 20}, c10::kCPU);
  expect_company_changes_nothing(*engine, 1000);
}

TEST_F(Engine, ListenersHearEveryFewCodesAndTheEndAndMayStopEverything) {
  const std::vector<std::int64_t> text = {3, 4, 5, 6};
  const std::vector<DecodePrefix> rows = {prefix(text)};
  weights_.at("gpt.mel_head.bias")[config_.stop_audio] = -1e3;
  const auto engine = make_decode_engine(config_, weights_, {.codes = 25}, c10::kCPU);
  std::vector<std::size_t> heard;
  const auto all = engine->generate(rows, {.greedy = true},
                                    {.every = 10, .hear = [&](const RowSoFar& row) {
                                       heard.push_back(row.codes.size());
                                       EXPECT_EQ(row.states.size(0),
                                                 static_cast<std::int64_t>(row.codes.size()));
                                       EXPECT_EQ(row.ended, row.codes.size() == 25);
                                       return true;
                                     }});
  EXPECT_EQ(heard, (std::vector<std::size_t>{10, 20, 25}));
  EXPECT_FALSE(all.front().stopped);
  const auto some = engine->generate(rows, {.greedy = true},
                                     {.every = 10, .hear = [](const RowSoFar&) { return false; }});
  EXPECT_EQ(some.front().codes,
            std::vector<std::int64_t>(all.front().codes.begin(), all.front().codes.begin() + 10));
  EXPECT_TRUE(some.front().states.equal(all.front().states.narrow(0, 0, 10)));
}

TEST_F(Engine, ATextThatIsTooLongIsRefusedInASentence) {
  const std::vector<std::int64_t> longest(401, 3);
  const std::vector<std::int64_t> too_long(402, 3);
  const auto engine = make_decode_engine(config_, weights_, {.codes = 2}, c10::kCPU);
  engine->begin(std::vector<DecodePrefix>{prefix(longest)});
  EXPECT_THROW(engine->begin(std::vector<DecodePrefix>{prefix(too_long)}), DataError);
}

TEST_F(Engine, ADeviceWithoutAnEngineIsRefused) {
  EXPECT_THROW(make_decode_engine(config_, weights_, {}, c10::Device(c10::kMPS)), DeviceError);
}

}  // namespace
}  // namespace myxtts::engine_test
