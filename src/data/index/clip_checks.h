// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/run_config.h"
#include "data/index/corpus_scan.h"
#include "data/skipped.h"
#include "text/vocabulary.h"

namespace myxtts {

// Whether a clip can be trained on, by what is known of it without decoding. Each check gives the
// first thing that is wrong, with its reason and measure alone, or nothing. Pure functions.

// The shortest and the longest clips that are kept, in samples at 22,050 Hz.
std::int64_t least_samples(const DataConfig& limits);
std::int64_t most_samples(const DataConfig& limits);

// The text as the manifest has it: UTF-8, something in it, and no book.
std::optional<Skipped> check_text(std::string_view text);

// The text's tokens, the language's tag among them: known, and not too many.
std::optional<Skipped> check_tokens(std::span<const TokenId> ids, const Vocabulary& vocabulary,
                                    const DataConfig& limits);

// `samples` are those at 22,050 Hz, resampled.
std::optional<Skipped> check_length(std::int64_t samples, const DataConfig& limits);

// Letters and digits a second; blanks, marks and punctuation do not count.
double chars_per_second(std::string_view text, double seconds);
std::optional<Skipped> check_pace(std::string_view text, double seconds, const DataConfig& limits);

// The sentence for a corpus whose texts are written in a script that their language does not use,
// with the flag that mends it; empty where no tenth of them is. `index` is that of the request.
std::string warning_of_scripts(const ScanRequest& request, const ClipIndex& index);

}  // namespace myxtts
