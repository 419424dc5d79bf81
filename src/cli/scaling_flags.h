// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"
#include "diagnose/memory/recommend.h"
#include "diagnose/scaling/scaling_table.h"

namespace myxtts {

// Adds the flags that describe a cluster; each needs `recommended`. The request outlives the app.
void declare_scaling_flags(CLI::App& app, ScalingRequest& request, CLI::Option* recommended);

// Several ranks of a size: on the cluster that was asked for or is here, and on usual ones. Where
// no batch was asked for, that of this machine's own row is taken.
std::vector<ScalingTable> scaling_tables(const RecommendationTable& cards, ScalingRequest request,
                                         const Machine& here);

}  // namespace myxtts
