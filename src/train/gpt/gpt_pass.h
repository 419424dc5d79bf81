// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/gpt_rows.h"
#include "train/gpt/gpt_training.h"
#include "train/gpt/gradient_exchange.h"
#include "train/step/optimiser.h"
#include "train/step/parameters.h"

namespace myxtts {

// What a step of the GPT reads.
struct StepInputs {
  GptBatch rows;
  at::Tensor prompt_mel;  // [slots, bands, frames]
};

// A copy of a batch that stays when its slot goes back.
StepInputs copy_of(const DeviceBatch& batch);

// One short clip: enough for LibTorch to load its kernels and to make its work spaces.
StepInputs smallest_inputs(const GptConfig& config, std::int64_t prompt_frames, c10::Device device);

// A step's work on inputs: it is queued, nothing comes back.
using StepWork = std::function<void(const StepInputs&)>;

// The sizes of batches, each recorded once as a graph of `work` on inputs of its own, and replayed
// on batches that are copied there. The recorder and the device outlive it.
class StepGraphs {
 public:
  // Records, largest size first, with progress. Throws DeviceError with the reason where that
  // cannot be done.
  StepGraphs(RoleDevice& device, GraphRecorder& recorder, const std::vector<RowSizes>& sizes,
             const at::Tensor& prompt_mel, const StepWork& work);

  // Copies a batch to where its graph reads it; the batch may be written to afterwards. One of the
  // sizes that were recorded.
  void load(const DeviceBatch& batch);

  // The graph of the batch that was loaded last.
  void replay();

 private:
  struct Graph {
    StepInputs inputs;
    std::unique_ptr<RecordedGraph> recorded;
  };

  Graph& find(const GptBatch& rows);
  void copy(const at::Tensor& to, const at::Tensor& from) const;

  RoleDevice& device_;
  std::vector<Graph> graphs_;
  Graph* loaded_ = nullptr;
};

// What a pass works on. All of it outlives the pass.
struct GptPassParts {
  RoleDevice& device;
  Gpt& gpt;
  Parameters& parameters;
  Optimiser& optimiser;
  GradientExchange* exchange = nullptr;  // with other ranks, where there are some
};

// Forward and backward of the GPT, batch after batch: computed as they come, or recorded once for
// each size as a CUDA graph and replayed. Gradients stay in the parameters and losses in the
// optimiser; with the last batch of a step they are summed over the ranks, on the way where the
// pass computes or a graph holds the sums.
//
// The trainer's thread only, with work of the role.
class GptPass {
 public:
  // Records where graphs are asked for, with progress.
  GptPass(const GptConfig& config, const GptTrainingSettings& settings, const GptPassParts& parts);

  // Takes what the pass needs of a batch.
  void load(const DeviceBatch& batch);

  // The pass of the batch that was loaded, as batch `batch` of the step after `step`.
  void run(std::int64_t step, std::uint64_t batch);

  struct Found {
    GptLosses losses;
    GuideSums guide;  // where there is a guide
  };
  Found forward(const StepInputs& inputs, double dropout) const;

 private:
  RememberRandom remember_random();
  void record_graphs(const GptConfig& config);
  bool asks_on_the_way() const;
  void on_the_way() const;
  void ask_on_the_way_back() const;
  bool gradients_are_zero() const;
  at::Tensor add_losses(const Found& found, const StepInputs& inputs) const;
  void compute(const StepInputs& inputs, bool sums) const;
  void backward(const StepInputs& inputs) const;
  void sum_over_ranks() const;
  void seed_dropout(std::int64_t step, std::uint64_t batch);

  const GptTrainingSettings& settings_;
  const GptPassParts parts_;
  at::Generator random_;  // of dropout
  std::unique_ptr<GraphRecorder> recorder_;
  std::optional<StepGraphs> graphs_;
  bool recording_ = false;

  // Of the batch that was loaded.
  bool has_clips_ = false;
  bool ends_step_ = true;
  StepInputs inputs_;  // without graphs
};

}  // namespace myxtts
