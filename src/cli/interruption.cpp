// SPDX-License-Identifier: Apache-2.0
#include "cli/interruption.h"

#include <csignal>

namespace myxtts {
namespace {

volatile std::sig_atomic_t arrived = 0;

void remember(int signal) {
  arrived = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interruption::Interruption() {
  arrived = 0;
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

Interruption::~Interruption() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int Interruption::signal() const {
  return arrived;
}

}  // namespace myxtts
