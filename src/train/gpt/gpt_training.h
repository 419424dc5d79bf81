// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "device/role_device.h"
#include "model/gpt.h"
#include "model/gpt_rows.h"
#include "model/named_tensors.h"
#include "parallel/rank_team.h"
#include "train/parts.h"
#include "train/step/part_training.h"

namespace myxtts {

struct GptTrainingSettings {
  StepSettings step = {};  // graphs: one for each size of `sizes`, largest first
  MemorySavers savers = {};
  double dropout = kGptDropout;
  double guide = 0;  // weight of the guide beside the losses: Note [Text guide]; 0: none
  std::vector<RowSizes> sizes = {};  // that batches have; empty: any
  std::int64_t slots = 0;            // clips a batch holds at most
  std::int64_t prompt_frames = 517;  // of a clip's prompt: six seconds

  // The ranks of the run: Note [Gradients of several ranks]. It outlives the training.
  RankTeam* team = &RankTeam::alone();
  Wire wire = Wire::Fp32;
  bool shard = false;  // each rank keeps AdamW's averages of its part alone
};

// The GPT while it is trained: cross entropy of texts and codes on packed rows, "text_loss" and
// "audio_loss", means over the targets of the whole step. What is drawn at random is dropout.
//
// `weights` has the names of gpt_specs() behind kGptPrefix, among others, fp32, on the CPU; they
// are copied. Throws ConfigError when a pattern to freeze fits no parameter, DeviceError when
// memory does not suffice.
std::unique_ptr<PartTraining> make_gpt_training(const GptConfig& config,
                                                const NamedTensors& weights, RoleDevice& device,
                                                const GptTrainingSettings& settings);
std::unique_ptr<PartTraining> make_gpt_training(const TrainingInputs& inputs);

}  // namespace myxtts
