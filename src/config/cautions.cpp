// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config/effective_config.h"
#include "config/stage_defaults.h"

namespace myxtts {
namespace {

// AdamW moves each weight by about the rate in every step, whatever the gradient's length.
constexpr double kHighRate = 0.01;

bool was_chosen(const EffectiveConfig& config, std::string_view key) {
  return !config.origins.empty() && config.origin_of(key).kind != Origin::Kind::Default;
}

}  // namespace

std::vector<std::string> cautions(const EffectiveConfig& config) {
  const RunConfig& values = config.values;
  std::vector<std::string> found;
  if (values.train.prompt_mask == PromptMask::Peer) {
    found.emplace_back(
        "--prompt-mask peer repeats a slip of the Python trainer, which masks the wrong codes of "
        "one clip in each batch; it is there for comparing with it. Train with --prompt-mask "
        "clip.");
  }
  if (learning_rate_of(values.train) > kHighRate) {
    found.push_back(fmt::format(
        "--lr {} is far above what this network bears: fine-tuning uses about 5e-6, training from "
        "nothing about 1e-4.",
        learning_rate_of(values.train)));
  }
  const bool measures = !values.data.val_data.empty() || values.data.val_fraction > 0;
  if (!measures && values.run.keep_best > 0 && was_chosen(config, "run.keep_best")) {
    found.push_back(fmt::format(
        "--keep-best {} keeps nothing, as nothing is measured on: data.val_fraction is 0 and there "
        "is no --val-data.",
        values.run.keep_best));
  }
  if (!values.run.save_steps && !values.run.save_minutes) {
    found.emplace_back(
        "With --save-steps none and --save-minutes none the only checkpoint is the last one, and a "
        "power cut costs the whole run.");
  }
  return found;
}

}  // namespace myxtts
