// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "kernels/decode/code_sampling.h"

namespace myxtts {

// How codes are chosen from logits. The defaults are the public XTTS v2's; see
// kernels/decode/code_sampling.h for what each does, and in which order.
struct SamplingSettings {
  bool greedy = false;              // the likeliest code always; only repetition_penalty counts
  double temperature = 0.75;        // above 0; 1: no change
  std::int64_t top_k = 50;          // 0: no limit
  double top_p = 0.85;              // in (0, 1]; 1: no limit
  double repetition_penalty = 5.0;  // above 0; 1: none
  double length_penalty = 1.0;      // of beams alone
  std::int64_t beams = 1;           // more than 1: beam search, or beam sampling if not greedy
  std::uint64_t seed = 1;

  bool operator==(const SamplingSettings&) const = default;
};

// What a user chose of them; where nothing was chosen, the model's own holds.
struct SamplingChoice {
  std::optional<double> temperature = {};
  std::optional<std::int64_t> top_k = {};
  std::optional<double> top_p = {};
  std::optional<double> repetition_penalty = {};
  std::optional<double> length_penalty = {};
  std::optional<std::uint64_t> seed = {};
  std::int64_t beams = 1;
  bool greedy = false;
};

// What a user calls them: flags ("--top-k"), or fields of JSON ("top_k").
enum class SamplingNames { Flags, Fields };

// The choice over the model's settings. Throws ConfigError as validate() does.
SamplingSettings sampling_of(const SamplingChoice& choice, const SamplingSettings& of_model,
                             SamplingNames names = SamplingNames::Flags);

// The random stream of every draw.
inline constexpr const char* kSamplingStream = "synth/code";

// The random number in [0, 1) that chooses code `step` (from 0) of the text with this number. Of
// nothing else, so that a text sounds the same alone and among others.
double sampling_draw(std::uint64_t seed, std::uint32_t text_number, std::uint32_t step);

// log softmax in place.
void to_log_probabilities(std::span<float> logits);

// The codes a row has had, as the penalty sees them. Id 1 and the start code are in it from the
// beginning: the public model was tuned with a generator that filled the place of the prefix so.
class CodeHistory {
 public:
  explicit CodeHistory(const GptConfig& config);
  void add(std::int64_t code) { seen_[static_cast<std::size_t>(code)] = 1; }
  std::span<const std::uint8_t> seen() const { return seen_; }

 private:
  std::vector<std::uint8_t> seen_;  // [audio ids]
};

// The steps of kernels/decode/code_sampling.h in their order, as the settings say; with beams on
// log probabilities.
void process_logits(std::span<float> logits, const CodeHistory& history,
                    const SamplingSettings& settings);

// The next code of a row. Changes `logits`.
std::int64_t choose_code(std::span<float> logits, const CodeHistory& history,
                         const SamplingSettings& settings, double draw);

// Throws ConfigError that names the flag or field, its value and what is allowed.
void validate(const SamplingSettings& settings, SamplingNames names = SamplingNames::Flags);

// What a model's config.json says about sampling, and coqui-tts' own defaults where it says
// nothing. `subject` names the file in the DataError of a value that cannot be used.
SamplingSettings parse_sampling_settings(std::string_view json, const std::string& subject);

}  // namespace myxtts
