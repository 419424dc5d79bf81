// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "config/run_config.h"
#include "device/device_plan.h"
#include "session/run_data.h"
#include "train/decoder/decoder_training_settings.h"
#include "train/dvae/dvae_training.h"
#include "train/gpt_training_settings.h"
#include "train/speaker/speaker_training.h"
#include "train/trainer.h"

namespace myxtts {

// The settings of a run as the trainer's parts take them; each decided, nothing is "auto".
GptTrainingSettings gpt_training_settings(const RunConfig& config, const DevicePlan& plan,
                                          const RunData& data);
DvaeTrainingSettings dvae_training_settings(const RunConfig& config, const DevicePlan& plan,
                                            const RunData& data);
DecoderTrainingSettings decoder_training_settings(const RunConfig& config, const DevicePlan& plan,
                                                  const RunData& data);
SpeakerTrainingSettings speaker_training_settings(const RunConfig& config, const DevicePlan& plan,
                                                  const RunData& data);
// What --stage-budget gives the stage in minutes, in seconds; nothing: no minutes.
std::optional<double> most_seconds(const TrainConfig& train);
// The data outlives the trainer.
TrainerSettings trainer_settings(const RunConfig& config, const RunData& data);

}  // namespace myxtts
