// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace myxtts {

// Where a tensor of somebody's checkpoint belongs in the public layout.
enum class CheckpointPart {
  Model,   // model.pth: gpt.*, hifigan_decoder.*, mel_stats
  Dvae,    // dvae.pth, which trainer checkpoints carry under "dvae."
  Nothing  // copies made for generation, attention masks of old versions, mel filter banks
};

struct CheckpointName {
  CheckpointPart part = CheckpointPart::Nothing;
  std::string name;  // as the public file of that part has it
};

// Translates a name of a state dict: of the public file, of a trainer's checkpoint ("xtts." before
// everything) or of one that an older library wrote (weight_g and weight_v).
CheckpointName public_name(std::string_view name_in_file);

}  // namespace myxtts
