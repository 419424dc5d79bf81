// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include <c10/core/Device.h>

#include "config/networks.h"
#include "device/role_device.h"
#include "train/decoder/decoder_training_settings.h"
#include "train/decoder/window_maker.h"

namespace myxtts {

using GanWork = std::function<void(const DecoderWindows&)>;

// The two kinds of step, without discriminators and with them, each recorded once as a CUDA graph
// on windows of its own that every batch's are copied to. The GPT in front is not part of them: its
// sizes differ from batch to batch, and it is queued while the step before it still runs.
class GanGraphs {
 public:
  // Runs each kind once, so that LibTorch chooses its kernels, and records it; with progress. Takes
  // `inputs` as its own. The device outlives it. Throws DeviceError where that cannot be done.
  GanGraphs(RoleDevice& device, DecoderWindows inputs, const GanWork& mel_only,
            const GanWork& with_discriminators);
  ~GanGraphs();

  // Windows of the sizes that were recorded.
  void replay(const DecoderWindows& windows, bool with_discriminators);

 private:
  std::unique_ptr<RecordedGraph> record(RoleDevice& device, const GanWork& work);

  DecoderWindows inputs_;
  std::unique_ptr<GraphRecorder> recorder_;  // before its graphs
  std::unique_ptr<RecordedGraph> mel_only_;
  std::unique_ptr<RecordedGraph> with_discriminators_;
};

// Silence, of the sizes that the settings say.
DecoderWindows empty_windows(const DecoderConfig& config, const DecoderTrainingSettings& settings,
                             c10::Device device);

}  // namespace myxtts
