// SPDX-License-Identifier: Apache-2.0
#include "cli/reference_flags.h"

#include <cmath>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr double kLongest = 86400.0;  // a day

std::int64_t samples_of(const char* flag, double seconds, std::int64_t sample_rate) {
  const auto samples = std::isfinite(seconds) && seconds >= 0.0 && seconds <= kLongest
                           ? std::llround(seconds * static_cast<double>(sample_rate))
                           : -1;
  if (samples < shortest_reference_piece(sample_rate)) {
    throw ConfigError(fmt::format(
        "{} takes seconds from 0.34 to {:.0f}, but was given {}: shorter pieces of a reference are "
        "not listened to.",
        flag, kLongest, seconds));
  }
  return samples;
}

}  // namespace

void declare_reference_flags(CLI::App& app, ReferenceFlags& flags) {
  app.add_option("--cond-len", flags.cond_len,
                 "Seconds of the reference that the latents listen to; 0: all of it. [the model's]")
      ->type_name("S");
  app.add_option("--cond-chunk", flags.cond_chunk,
                 "Seconds of the pieces that they are averaged over. [the model's]")
      ->type_name("S");
  app.add_option("--max-ref-len", flags.max_ref_len,
                 "Seconds that are listened to of each file. [the model's]")
      ->type_name("S");
}

ReferenceLengths reference_lengths(const ReferenceFlags& flags, const ReferenceConfig& of_model,
                                   std::int64_t sample_rate) {
  const double cond_len = flags.cond_len.value_or(of_model.gpt_cond_len);
  const auto samples = [&](const char* flag, double seconds) {
    return samples_of(flag, seconds, sample_rate);
  };
  return {.of_each = samples("--max-ref-len", flags.max_ref_len.value_or(of_model.max_ref_len)),
          .for_latents = cond_len <= 0.0 ? 0 : samples("--cond-len", cond_len),
          .latents_piece =
              samples("--cond-chunk", flags.cond_chunk.value_or(of_model.gpt_cond_chunk_len))};
}

}  // namespace myxtts
