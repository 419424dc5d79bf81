// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/train.h"

// What a stage is trained with where nothing else was asked for: the Python peer's recipe for the
// GPT, HiFi-GAN's for the decoder.

namespace myxtts {

double learning_rate_of(const TrainConfig& config);
ScheduleKind schedule_of(const TrainConfig& config);
double weight_decay_of(const TrainConfig& config);

// Clips of a batch in a stage whose batch does not follow from memory.
std::int64_t usual_batch_size(Stage stage);

}  // namespace myxtts
