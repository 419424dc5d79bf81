// SPDX-License-Identifier: Apache-2.0
#include "cli/interruption.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

volatile std::sig_atomic_t arrived = 0;
std::atomic<int> bell = -1;  // an eventfd that a signal, or the end of a watch, rings

void ring() {
  const std::uint64_t one = 1;
  // Nothing could be done about a failure, and a handler must not touch errno.
  const int before = errno;
  if (bell >= 0 && ::write(bell, &one, sizeof one) < 0) errno = before;
}

void remember(int signal) {
  arrived = signal;
  std::signal(signal, SIG_DFL);
  ring();
}

void wait_for_bell() {
  std::uint64_t count = 0;
  while (::read(bell, &count, sizeof count) < 0 && errno == EINTR) {
  }
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

InterruptionWatch::InterruptionWatch(std::function<void()> act) {
  bell = ::eventfd(0, EFD_CLOEXEC);
  MYXTTS_CHECK(bell >= 0, "no eventfd: error {}", errno);
  if (arrived != 0) ring();
  threads_.start("interruption", [act = std::move(act)] {
    wait_for_bell();
    if (arrived != 0) act();
  });
}

InterruptionWatch::~InterruptionWatch() {
  ring();
  try {
    threads_.join();
  } catch (const std::exception& error) {
    log_error("cli", "{}", error.what());
  }
  ::close(bell.exchange(-1));
}

}  // namespace myxtts
