// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace myxtts {

enum class Stage { Gpt, Dvae, Decoder };

enum class Precision { Auto, Fp32, Tf32, Bf16, Fp16 };

// What is trained, for how long and with which arithmetic.
struct TrainConfig {
  Stage stage = Stage::Gpt;
  std::string model_size = "normal";
  std::optional<std::filesystem::path> init = {};
  std::optional<std::int64_t> batch_size = {};    // clips
  std::optional<std::int64_t> batch_tokens = {};  // in place of batch_size
  std::int64_t grad_accum = 1;                    // batches in one step
  std::int64_t epochs = 100;
  std::optional<std::int64_t> max_steps = {};
  double lr = 5e-6;
  std::int64_t seed = 0;
  Precision precision = Precision::Auto;
  bool enable_static_shapes = true;
  bool deterministic = false;

  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

}  // namespace myxtts
