// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "cli/command.h"
#include "config/model_json.h"
#include "model/reference_voice.h"

namespace myxtts {

// How much of reference clips is listened to, in seconds, where the user says so.
struct ReferenceFlags {
  std::optional<double> cond_len;
  std::optional<double> cond_chunk;
  std::optional<double> max_ref_len;
};

// Adds --cond-len, --cond-chunk and --max-ref-len. The flags outlive the app.
void declare_reference_flags(CLI::App& app, ReferenceFlags& flags);

// What the flags say, and the model's config where they say nothing. Throws ConfigError.
ReferenceLengths reference_lengths(const ReferenceFlags& flags, const ReferenceConfig& of_model,
                                   std::int64_t sample_rate);

}  // namespace myxtts
