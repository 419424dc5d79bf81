// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace myxtts {

// Where a tensor of somebody's checkpoint belongs in the public layout.
enum class CheckpointPart {
  Model,  // model.pth: gpt.*, hifigan_decoder.*, mel_stats
  Dvae    // dvae.pth, which trainer checkpoints carry under "dvae."
};

// Translates a name of a state dict: of the public file, of a trainer's checkpoint ("xtts." before
// everything) or of one that an older library wrote (weight_g and weight_v). Gives the name that
// the public file of `part` has; nothing for a tensor of another part, or of none: copies made for
// generation, attention masks of old versions, mel filter banks.
std::optional<std::string> public_name(std::string_view name_in_file, CheckpointPart part);

}  // namespace myxtts
