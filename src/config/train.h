// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/stage.h"

namespace myxtts {

enum class Precision { Auto, Fp32, Tf32, Bf16, Fp16 };

// How the learning rate changes. Steps is the Python peer's recipe for the GPT, Exponential that of
// HiFi-GAN.
enum class ScheduleKind { Steps, Constant, Cosine, Exponential };

// Which codes of the span that a clip's prompt was cut from do not count in the loss.
enum class PromptMask { Clip, None, Peer };

// Where the prompt of a clip comes from: the clip itself, or another one of its speaker.
enum class PromptFrom { Clip, Speaker };

// Which checkpoint of a stage the next one of `stages` starts from.
enum class HandOn { Latest, Best };

// How AdamW's two averages are kept.
enum class Moments { Fp32, Bf16, EightBit };

// How long one stage is trained: one of the two.
struct StageBudget {
  std::optional<std::int64_t> steps = {};
  std::optional<double> minutes = {};  // over all resumes

  friend bool operator==(const StageBudget&, const StageBudget&) = default;
};
using StageBudgets = std::map<Stage, StageBudget>;

// What is trained, for how long and with which arithmetic.
struct TrainConfig {
  Stage stage = Stage::Gpt;
  std::optional<std::vector<Stage>> stages = {};  // one after another, in place of `stage`
  std::optional<StageBudgets> stage_budget = {};
  HandOn hand_on = HandOn::Latest;
  std::string model_size = "normal";
  std::optional<std::filesystem::path> init = {};
  std::optional<std::filesystem::path> vocab = {};  // nothing: learned, where there is no init
  std::optional<std::int64_t> vocab_pieces = {};    // nothing: by the amount of text
  std::optional<std::int64_t> batch_size = {};      // clips
  std::optional<std::int64_t> batch_tokens = {};    // in place of batch_size
  std::int64_t grad_accum = 1;                      // batches in one step
  std::int64_t epochs = 100;
  std::optional<std::int64_t> max_steps = {};
  std::optional<double> max_minutes = {};  // of this command
  std::int64_t seed = 0;

  // Nothing: what suits the stage (config/stage_defaults.h).
  std::optional<double> lr = {};
  std::optional<ScheduleKind> schedule = {};
  std::int64_t warmup_steps = 0;
  std::optional<double> weight_decay = {};  // nothing: likewise
  std::optional<double> grad_clip = {};     // of the length of all gradients together
  double dropout = 0.1;
  std::optional<std::vector<std::string>> freeze = {};  // patterns of parameters' names
  PromptFrom prompt_from = PromptFrom::Clip;
  PromptMask prompt_mask = PromptMask::Clip;  // of prompts that are the clip's own
  bool shift_clips = false;                   // each visit of a clip begins a little later
  double code_noise = 0;  // the share of the codes read by the GPT that are others
  double guide = 0;       // what attention that follows the text counts beside the GPT's losses

  // Of stages that train on sound. Nothing: what suits the stage.
  std::optional<std::int64_t> windows_per_clip = {};
  std::optional<double> window = {};   // seconds
  std::int64_t mel_only_steps = 2000;  // of the decoder, before its discriminators take part

  Precision precision = Precision::Auto;
  bool enable_static_shapes = true;
  bool deterministic = false;

  // Nothing: by the memory model, when the batch would not fit.
  std::optional<bool> recompute = {};
  std::optional<Moments> moments = {};
  std::optional<bool> release_gradients = {};

  std::int64_t max_bad_steps = 20;
  double spike_factor = 3.0;

  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

}  // namespace myxtts
