// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_setup.h"

#include "base/error.h"
#include "config/field.h"

namespace myxtts {

void check_can_be_profiled(const RunConfig& config) {
  if (config.train.stage != Stage::Gpt) {
    throw ConfigError("profile measures the stage gpt; leave --stage out.");
  }
  if (config.parallel.ranks || config.parallel.gpus) {
    throw ConfigError(fmt::format(
        "profile looks into a training by one rank; leave {} out. On the CPU --compare measures "
        "several ranks beside other placements.",
        config.parallel.ranks ? "--ranks" : "--gpus"));
  }
}

EffectiveConfig with_knobs(EffectiveConfig settings, const Profile& profile) {
  const auto fields = all_fields();
  for (const Finding& finding : profile.findings) {
    if (!finding.knob) continue;
    // A budget of tokens and a number of clips exclude each other: the first one named is kept.
    const bool is_clips = finding.knob->key == "train.batch_size";
    if (is_clips && settings.values.train.batch_tokens) continue;
    const Field* field = find_field(finding.knob->key);
    MYXTTS_CHECK(field != nullptr && field->assign({.text = finding.knob->value}, settings.values),
                 "{} cannot be {}", finding.knob->key, finding.knob->value);
    settings.origins.at(static_cast<std::size_t>(field - fields.data())) = {
        .kind = Origin::Kind::Flag, .name = "--apply of profile"};
    if (finding.knob->key == "train.batch_tokens") settings.values.train.batch_size.reset();
  }
  check_consistency(settings);
  return settings;
}

}  // namespace myxtts
