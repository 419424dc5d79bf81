// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/gpt_batch.h"
#include "model/gpt_rows.h"

namespace myxtts {

// What a step of the GPT reads of a batch, its rows and prompts: a copy that stays when the slot
// goes back.
Batch<TensorOf> copy_of(const DeviceBatch& batch);

// One short clip: enough for LibTorch to load its kernels and to make its work spaces.
Batch<TensorOf> smallest_inputs(const GptConfig& config, std::int64_t prompt_frames,
                                c10::Device device);

// A step's work on inputs: it is queued, nothing comes back.
using StepWork = std::function<void(const Batch<TensorOf>&)>;

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
    Batch<TensorOf> inputs;
    std::unique_ptr<RecordedGraph> recorded;
  };

  Graph& find(const GptBatch& rows);
  void copy(const at::Tensor& to, const at::Tensor& from) const;

  RoleDevice& device_;
  std::vector<Graph> graphs_;
  Graph* loaded_ = nullptr;
};

}  // namespace myxtts
