// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace myxtts {

// `myxtts export`: a model folder becomes files that the Python peer loads.
Command export_command();

}  // namespace myxtts
