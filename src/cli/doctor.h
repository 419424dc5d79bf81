// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace myxtts {

Command doctor_command();

}  // namespace myxtts
