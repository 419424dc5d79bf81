// SPDX-License-Identifier: Apache-2.0
#include "base/interruption.h"

#include <sys/eventfd.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

// Where a service manager tells every process of a run, a launcher passes it on to its ranks too.
constexpr std::int64_t kOneAndTheSame = 1'000;  // milliseconds

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t arrived = 0;
std::atomic<std::int64_t> arrived_at = 0;  // milliseconds
static_assert(std::atomic<std::int64_t>::is_always_lock_free);
std::atomic<int> bell = -1;  // an eventfd that a signal, or the end of a watch, rings

void ring() {
  const std::uint64_t one = 1;
  // Nothing could be done about a failure, and a handler must not touch errno.
  const int before = errno;
  if (bell >= 0 && ::write(bell, &one, sizeof one) < 0) errno = before;
}

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

// The first ends the run in good order, the second at once.
void remember(int signal) {
  const std::int64_t now = now_ms();
  if (arrived == 0) {
    arrived = signal;
    arrived_at = now;
    ring();
  } else if (arrived != signal || now - arrived_at >= kOneAndTheSame) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // held back until this handler returns
  }
}

void wait_for_bell() {
  std::uint64_t count = 0;
  while (::read(bell, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace

Interruption::Interruption() {
  arrived = 0;
  for (const int signal : kSignals) {
    // A process that nohup started ignores the end of its terminal, and goes on doing so.
    if (std::signal(signal, remember) == SIG_IGN && signal == SIGHUP) std::signal(signal, SIG_IGN);
  }
}

Interruption::~Interruption() {
  for (const int signal : kSignals) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

int Interruption::signal() const {
  return arrived;
}

void stop_if_interrupted() {
  if (arrived != 0) throw Interrupted{arrived};
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
