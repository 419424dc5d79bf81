// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "data/sound_window.h"
#include "pipeline/batch_source.h"
#include "pipeline/batcher.h"
#include "pipeline/host_batch.h"

namespace myxtts {

// The windows of a batch as HostBatch has them; all empty where the plan is.
struct WindowArrays {
  std::vector<float> weights;
  std::vector<std::int64_t> clips;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> speakers;
};

// Of clips that are in `settled`, in the same order. A clip of a speaker that is not trained on
// counts for nothing in the speaker stage.
WindowArrays lay_out_windows(const BatchSource& source, const WindowPlan& plan,
                             const SettledBatch& settled, std::span<const HostClip> clips);

}  // namespace myxtts
