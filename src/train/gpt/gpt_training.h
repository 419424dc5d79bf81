// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/gpt_rows.h"
#include "model/named_tensors.h"
#include "parallel/rank_team.h"
#include "train/step/optimiser.h"
#include "train/step/stage_training.h"

namespace myxtts {

struct GptTrainingSettings {
  Precision precision = Precision::Fp32;  // decided, not Auto
  UpdateSettings update = {};
  MemorySavers savers = {};
  double dropout = 0.1;
  double guide = 0;        // what the guide counts beside the losses: Note [Text guide]; 0: nothing
  std::uint64_t seed = 0;  // of dropout
  std::int64_t batches_a_step = 1;  // --grad-accum
  std::vector<std::string> freeze = {};
  bool graphs = false;               // record each size of `sizes` as a CUDA graph, largest first
  bool deterministic = false;        // only operations that give equal results each time
  std::vector<RowSizes> sizes = {};  // that batches have; empty: any
  std::int64_t slots = 0;            // clips a batch holds at most
  std::int64_t prompt_frames = 517;  // of a clip's prompt: six seconds

  // The ranks of the run: Note [Gradients of several ranks]. It outlives the training.
  RankTeam* team = &RankTeam::alone();
  Wire wire = Wire::Fp32;
  bool shard = false;  // each rank keeps AdamW's averages of its part alone

  // Called again and again in each pass, where graphs are not asked for and gradients not released.
  // What it throws ends the step, whose batch then counts as never seen; afterwards only weights(),
  // optimiser() and restore() may be called.
  std::function<void()> on_the_way = {};
};

// The GPT while it is trained: cross entropy of texts and codes on packed rows. What is drawn at
// random is dropout.
class GptTraining final : public StageTraining {
 public:
  // `weights` has the names of gpt_specs() behind kGptPrefix, fp32, on the CPU; they are copied.
  // Where graphs are asked for, they are recorded here, with progress. Throws ConfigError when a
  // pattern to freeze fits no parameter, DeviceError when memory does not suffice.
  GptTraining(const GptConfig& config, const NamedTensors& weights, RoleDevice& device,
              const GptTrainingSettings& settings);
  ~GptTraining() override;

  // "text_loss" and "audio_loss": means over the targets of the whole step.
  const std::vector<std::string>& loss_names() const override;
  double total(std::span<const double> losses) const override;

  void accumulate(DeviceBatch& batch) override;
  void update(double learning_rate) override;

  std::int64_t step() const override;
  RoleDevice& device() const override;

  std::vector<StepNumbers> take_numbers() override;
  std::vector<StepNumbers> finish_numbers() override;

  double take_waited() override;
  bool settle() override;

  std::vector<std::string> overflowed() const override;

  // Token losses without dropout, in the step's arithmetic.
  at::Tensor evaluate(DeviceBatch& batch) override;

  NamedTensors weights() const override;
  NamedTensors optimiser() const override;
  NamedTensors kept() const override;

  // Moments that were kept in another precision are converted.
  void restore(std::int64_t step, const NamedTensors& weights,
               const NamedTensors& optimiser) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
