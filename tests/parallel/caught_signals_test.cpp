// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_processes.h"

#include <poll.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace myxtts::caught_signals_test {
namespace {

// A thread that waits, and takes no notice of anything.
class Bystander {
 public:
  Bystander()
      : thread_([this] {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return ends_; });
        }) {}
  ~Bystander() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void send(int signal) { ::pthread_kill(thread_.native_handle(), signal); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

int next_of(const CaughtSignals& signals) {
  pollfd ready{.fd = signals.file(), .events = POLLIN, .revents = 0};
  while (::poll(&ready, 1, 10'000) < 0) {
  }
  return signals.take();
}

// As the kernel does with one for the process: any thread that does not block it may get it.
TEST(CaughtSignals, ComeWhicheverThreadGetsThem) {
  std::signal(SIGHUP, SIG_DFL);  // ignored where the tests run under nohup
  Bystander before;
  const CaughtSignals signals;
  Bystander after;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    before.send(signal);
    EXPECT_EQ(next_of(signals), signal);
    after.send(signal);
    EXPECT_EQ(next_of(signals), signal);
    ::kill(::getpid(), signal);
    EXPECT_EQ(next_of(signals), signal);
  }
  EXPECT_EQ(signals.take(), 0);
}

TEST(CaughtSignals, AHangUpThatIsIgnoredStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const CaughtSignals signals;
    ::raise(SIGHUP);
    ::raise(SIGTERM);
    EXPECT_EQ(signals.take(), SIGTERM);
    EXPECT_EQ(signals.take(), 0);
  }
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

TEST(CaughtSignals, WhatSignalsDidBeforeTheyDoAfterwards) {
  const auto nothing = [](int) {};
  const auto before = std::signal(SIGTERM, nothing);
  { const CaughtSignals signals; }
  EXPECT_EQ(std::signal(SIGTERM, before), static_cast<sighandler_t>(nothing));
}

}  // namespace
}  // namespace myxtts::caught_signals_test
