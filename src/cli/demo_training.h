// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "cli/interruption.h"

namespace myxtts {

// The folders of a demo.
struct DemoPlaces {
  std::filesystem::path corpus;
  std::filesystem::path run;
  std::filesystem::path exported;
};

// Trains by the commands that a person would type, which are shown: for half of the time, is then
// interrupted on purpose by SIGTERM, and goes on for as many steps again. The exit code of the
// command that did not end well, else 0. A signal to us goes to the command.
int train_twice(const DemoPlaces& places, double seconds, const Interruption& interruption);

// Exports the model where the Python peer can hold its size, and says why not elsewhere.
void try_export(const DemoPlaces& places, const Interruption& interruption);

}  // namespace myxtts
