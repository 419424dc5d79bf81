// SPDX-License-Identifier: Apache-2.0
#include "model/parameter_groups.h"

#include <algorithm>
#include <array>

namespace myxtts {

bool decays(std::string_view name) {
  constexpr std::array<std::string_view, 7> kKept = {
      ".bias",       ".norm.weight",      "ln_1.weight",     "ln_2.weight",
      "ln_f.weight", "final_norm.weight", "embedding.weight"};
  const bool is_position = name.ends_with("pos_embedding.emb.weight");
  return !is_position &&
         std::ranges::none_of(kKept, [&](std::string_view end) { return name.ends_with(end); });
}

ParameterGroups parameter_groups(const TensorSpecs& specs) {
  ParameterGroups groups;
  for (const auto& spec : specs) {
    if (spec.role != TensorRole::Parameter) continue;
    (decays(spec.name) ? groups.decayed : groups.kept).push_back(spec.name);
  }
  std::ranges::sort(groups.decayed);
  std::ranges::sort(groups.kept);
  return groups;
}

}  // namespace myxtts
