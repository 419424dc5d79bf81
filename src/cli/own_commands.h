// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/interruption.h"

namespace myxtts {

// For commands that are made of others, which run as a person would type them.

// Shows the command, without "myxtts" in `words`, and starts it.
std::unique_ptr<ChildProcess> start_command(std::vector<std::string> words);

// Waits for its end and gives its exit code. It is interrupted when `until` says so, and when we
// are.
int finish_command(
    ChildProcess& program, const Interruption& interruption,
    const std::function<bool()>& until = [] { return false; });

}  // namespace myxtts
