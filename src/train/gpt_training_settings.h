// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/memory_savers.h"
#include "config/parallel.h"
#include "config/train.h"
#include "model/gpt_rows.h"
#include "train/optimiser_settings.h"

namespace myxtts {

class RankTeam;

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

  // The other ranks of the run: Note [Gradients of several ranks]. It outlives the training. Null:
  // there are none.
  RankTeam* team = nullptr;
  Wire wire = Wire::Fp32;
  bool shard = false;  // each rank keeps AdamW's averages of its part alone

  // Called again and again in each pass, where graphs are not asked for and gradients not released.
  // What it throws ends the step, whose batch then counts as never seen; afterwards only weights(),
  // optimiser() and restore() may be called.
  std::function<void()> on_the_way = {};
};

}  // namespace myxtts
