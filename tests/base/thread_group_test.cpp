// SPDX-License-Identifier: Apache-2.0
#include "base/thread_group.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "base/bounded_queue.h"

namespace myxtts::thread_group_test {
namespace {

TEST(ThreadGroup, RunsEveryThreadUnderItsName) {
  std::string first;
  std::string second;
  const auto own_name = [](std::string& into) {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    into = name.data();
  };
  ThreadGroup group;
  group.start("decoder 3", [&] { own_name(first); });
  group.start("a name longer than the kernel takes", [&] { own_name(second); });
  group.join();
  EXPECT_EQ(first, "decoder 3");
  EXPECT_EQ(second, "a name longer t");
}

TEST(ThreadGroup, JoinThrowsTheFirstFailureOnceAfterAllHaveEnded) {
  BoundedQueue<int> gate(1);
  std::atomic<bool> other_ended = false;
  ThreadGroup group;
  group.start("other", [&] {
    static_cast<void>(gate.pop());
    other_ended = true;
  });
  group.start("failing", [&] {
    gate.finish();
    throw std::runtime_error("the disk broke");
  });
  try {
    group.join();
    FAIL() << "the failure was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the disk broke");
  }
  EXPECT_TRUE(other_ended);
  group.join();
}

TEST(ThreadGroup, ItsEndWaitsForItsThreads) {
  BoundedQueue<int> queue(1);
  std::atomic<bool> over = false;
  {
    ThreadGroup group;
    group.start("worker", [&] {
      while (queue.pop()) {
      }
      over = true;
    });
    queue.finish();
  }
  EXPECT_TRUE(over);
}

TEST(ThreadGroup, AFailureNobodyJoinedIsLoggedAndDoesNotEndTheProgram) {
  testing::internal::CaptureStderr();
  {
    ThreadGroup group;
    group.start("worker", [] { throw std::runtime_error("the disk broke"); });
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("the disk broke"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::thread_group_test
