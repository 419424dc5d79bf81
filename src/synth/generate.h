// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "synth/decode_engine.h"

namespace myxtts {

// What DecodeEngine::generate promises, by begin(), step() and choices on the CPU.
std::vector<GeneratedRow> generate_by_steps(DecodeEngine& engine,
                                            std::span<const DecodePrefix> rows,
                                            const SamplingSettings& settings,
                                            const CodeListener& listener);

// One text with settings.beams beams; the engine has as many rows. The best finished beam.
GeneratedRow generate_with_beams(DecodeEngine& engine, const DecodePrefix& prefix,
                                 const SamplingSettings& settings);

}  // namespace myxtts
