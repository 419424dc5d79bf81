// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/run_config.h"

namespace myxtts {

// Text to value and back, independent of the locale. parse_x gives nothing when the text is not
// such a value; format_x gives text that parse_x reads as the same value.

std::optional<std::int64_t> parse_integer(std::string_view text);

// Finite numbers, also in the form 1e-4.
std::optional<double> parse_number(std::string_view text);
std::string format_number(double value);

// true/false, yes/no, on/off in any letter case.
std::optional<bool> parse_switch(std::string_view text);

// "1" or "1:16".
std::optional<SplitGpu> parse_split_gpu(std::string_view text);
std::string format_split_gpu(const SplitGpu& split);

// The parts between commas, empty ones too.
std::vector<std::string_view> split_at_commas(std::string_view text);

// "fa=3,en=1.5": names with numbers above 0 and up to 1000, each name once.
std::optional<Weights> parse_weights(std::string_view text);
std::string format_weights(const Weights& weights);

// Two or three small letters, and optionally a region: "en", "fa", "zh-cn".
bool is_language_code(std::string_view text);

// The code of a language that somebody named in another way ("English", "en_US", "persian");
// nothing: it is no language known here.
std::optional<std::string> language_code_meant(std::string_view name);

// Complete UTF-8 without NUL.
bool is_text(std::string_view bytes);

// What is wrong with a path for which is_text() is false, and the remedy.
inline constexpr std::string_view kNotUtf8 =
    "which is not UTF-8; rename the file or folder so that its name is.";

// With control characters and bytes that are not UTF-8 written as \xNN, so that a message stays
// one readable line.
std::string one_line(std::string_view text);

// In quotes, without control characters and not longer than a line, for messages.
std::string quote(std::string_view text);

// "auto, cpu or cuda".
std::string listed(const std::vector<std::string>& words);

// A YAML scalar that is read back as `text`: plain where that is safe, in double quotes elsewhere.
std::string yaml_scalar(std::string_view text, bool must_quote);

// The layouts by the names that --format takes, as in "common-voice".
const std::vector<std::pair<std::string, CorpusLayout>>& corpus_layouts();
std::string_view name_of(CorpusLayout layout);

// Reads "DIR" or "DIR,language=fa,weight=2,format=plain"; nothing when it is not allowed.
//
// A comma starts an option only where a word of small letters and an equals sign follow, so that
// most paths with commas need nothing; \, is a comma of the path in any case, and \\ a backslash.
std::optional<CorpusSource> parse_corpus_source(std::string_view text);
std::string format_corpus_source(const CorpusSource& source);

// What a map of a YAML file may hold, and the text that means the same. Nothing without a path.
const std::vector<std::string>& corpus_source_keys();
std::optional<std::string> corpus_source_text(
    const std::vector<std::pair<std::string, std::string>>& map);

}  // namespace myxtts
