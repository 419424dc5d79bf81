// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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

  GptConfig config_ = small_config();
  NamedTensors weights_ = lively(config_);
};

}  // namespace myxtts
