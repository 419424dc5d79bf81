// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/run_config.h"
#include "data/corpus.h"
#include "run/open_model.h"
#include "run/png.h"
#include "session/starting_model.h"

namespace myxtts {

// Something to hear or to look at of a model.
struct Sample {
  std::string name = {};      // of its files
  std::string text = {};      // that is said; empty: none, or that of another sample
  std::string language = {};  // of the text
  at::Tensor sound = {};      // [S] fp32 on the CPU; undefined: there is nothing to hear
  std::int64_t sample_rate = 0;
  Picture picture = {};  // of width 0: there is nothing to see
};

using TakeSample = std::function<void(const Sample&)>;

// Makes the samples by which a part is judged, and hands over each sample of the model as it is
// done. Once `wanted` says no, it ends within about a second and hands over nothing more. One
// thread at a time, on the CPU. Throws DataError.
using SampleMaker = std::function<void(const OpenModel& model, const TakeSample& take,
                                       const std::function<bool()>& wanted)>;

// The lines of the file of --test-sentences that are not blank. Throws DataError when it cannot be
// read or has none.
std::vector<std::string> read_test_sentences(const std::filesystem::path& file);

// What the part of a run is judged by, as --samples and --test-sentences ask for it; empty:
// nothing. Throws DataError when the sentences cannot be read. `start` and the corpus
// outlive it.
SampleMaker samples_of_part(const RunConfig& config, const StartingModel& start,
                            const Corpus& corpus);

}  // namespace myxtts
