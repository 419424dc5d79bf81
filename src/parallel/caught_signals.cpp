// SPDX-License-Identifier: Apache-2.0
#include "parallel/caught_signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<int> to_write = -1;  // the end of the pipe that the handler writes to
static_assert(std::atomic<int>::is_always_lock_free);

// In any thread, in the middle of anything: only what is safe there, and errno stays.
void pass_on(int signal) {
  const int before = errno;
  const auto number = static_cast<unsigned char>(signal);
  // A full pipe holds more signals than anybody can have meant.
  if (to_write >= 0 && ::write(to_write, &number, 1) < 0) errno = before;
}

}  // namespace

CaughtSignals::CaughtSignals() {
  MYXTTS_CHECK(to_write < 0, "signals are caught already");
  const int made = ::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK);
  MYXTTS_CHECK(made == 0, "no pipe: error {}", errno);
  to_write = pipe_[1];
  struct sigaction passing {};
  passing.sa_handler = pass_on;
  passing.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    const bool ignored = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (!ignored) ::sigaction(kSignals[i], &passing, nullptr);
  }
}

CaughtSignals::~CaughtSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  to_write = -1;
  for (const int end : pipe_) ::close(end);
}

int CaughtSignals::take() const {
  unsigned char number = 0;
  ssize_t count = 0;
  while ((count = ::read(pipe_[0], &number, 1)) < 0 && errno == EINTR) {
  }
  return count == 1 ? number : 0;
}

}  // namespace myxtts
