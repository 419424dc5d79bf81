// SPDX-License-Identifier: Apache-2.0
#include "parallel/caught_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace myxtts {

CaughtSignals::CaughtSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  struct sigaction hang_up {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) ::sigaddset(&signals, SIGHUP);
  file_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  MYXTTS_CHECK(file_ >= 0, "no signalfd: error {}", errno);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

CaughtSignals::~CaughtSignals() {
  while (take() != 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  ::close(file_);
}

int CaughtSignals::take() const {
  signalfd_siginfo information{};
  const ssize_t count = ::read(file_, &information, sizeof information);
  return count == sizeof information ? static_cast<int>(information.ssi_signo) : 0;
}

}  // namespace myxtts
