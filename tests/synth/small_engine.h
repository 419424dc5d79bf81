// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "config/model.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "synth/decode_engine.h"

namespace myxtts {

// A small GPT of random weights for tests of decode engines.
class SmallEngine : public testing::Test {
 protected:
  static GptConfig small_config() {
    GptConfig config = model_preset("tiny").gpt;
    config.layers = 3;
    config.width = 72;
    config.heads = 3;
    config.text_ids = 60;
    config.start_text = 50;
    return config;
  }

  static NamedTensors lively(const GptConfig& config) {
    at::manual_seed(5);
    NamedTensors weights;
    for (const auto& spec : gpt_specs(config)) {
      weights[kGptPrefix + spec.name] = at::randn(spec.shape) * 0.2;
    }
    return weights;
  }

  DecodePrefix prefix(const std::vector<std::int64_t>& text, std::uint32_t number = 0) const {
    return {at::randn({config_.perceiver_latents, config_.width}), text, number};
  }

  // Rows join free places of the engine and leave them, by themselves or because they are stopped,
  // between any two steps. Each has the codes that it has alone.
  void expect_company_changes_nothing(DecodeEngine& engine, int schedules) const {
    constexpr std::uint32_t kTexts = 12;
    const auto places = as_index(engine.capacity().rows);
    std::mt19937 random(17);
    std::vector<std::vector<std::int64_t>> texts;
    std::vector<SamplingSettings> settings;
    for (std::uint32_t i = 0; i < kTexts; ++i) {
      texts.emplace_back(1 + random() % 9, 3 + i);
      settings.push_back({.greedy = i % 4 == 0, .temperature = 0.9, .top_k = 20, .seed = i});
    }
    std::vector<DecodePrefix> prefixes;
    for (std::uint32_t i = 0; i < kTexts; ++i) prefixes.push_back(prefix(texts[i], i));
    std::vector<GeneratedRow> alone;
    std::set<std::size_t> lengths;
    for (std::uint32_t i = 0; i < kTexts; ++i) {
      alone.push_back(engine.generate(std::span(prefixes).subspan(i, 1), settings[i], {})[0]);
      lengths.insert(alone.back().codes.size());
    }
    EXPECT_GE(lengths.size(), 4U);

    int whole = 0;
    std::vector<std::size_t> text_at(places, kTexts - 1);  // the last of those above is still there
    for (int step = 0; step < 12 * schedules; ++step) {
      const std::size_t place = random() % places;
      if (engine.progress(place).finished || random() % 16 == 0) {
        text_at[place] = random() % kTexts;
        engine.start(place, prefixes[text_at[place]], settings[text_at[place]]);
      } else if (random() % 16 == 0) {
        engine.stop(place);
      }
      engine.advance();
      for (std::size_t row = 0; row < places; ++row) {
        if (engine.progress(row).codes == 0) continue;
        const auto made = engine.row(row);
        const auto& wanted = alone[text_at[row]];
        ASSERT_LE(made.codes.size(), wanted.codes.size());
        ASSERT_TRUE(std::equal(made.codes.begin(), made.codes.end(), wanted.codes.begin()))
            << "step " << step << " row " << row;
        whole += made.codes.size() == wanted.codes.size() ? 1 : 0;
        if (engine.device().is_cpu()) {
          ASSERT_TRUE(made.states.equal(wanted.states.narrow(0, 0, made.states.size(0))));
        }
      }
    }
    EXPECT_GT(whole, schedules);
  }

  GptConfig config_ = small_config();
  NamedTensors weights_ = lively(config_);
};

}  // namespace myxtts
