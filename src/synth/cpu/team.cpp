// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/team.h"

#include <thread>

#include <fmt/format.h>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr int kLooks = 1000;           // before a core is given away
constexpr int kLooksBetweenRuns = 10;  // times kLooks, before a member sleeps

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Looks until `done`; gives the core away where that takes long, as on a busy machine.
template <typename Done>
void wait_awake(const Done& done) {
  for (int looks = 0; !done(); ++looks) {
    if (looks < kLooks) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

Team::Team(std::size_t members) : members_(members) {
  MYXTTS_CHECK(members >= 1, "a team of nobody does nothing");
}

Team::~Team() {
  leaving_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  threads_.join();
}

void Team::start() {
  for (std::size_t member = 1; member < members_; ++member) {
    threads_.start(fmt::format("decode {}", member), [this, member] { serve(member); });
  }
}

void Team::serve(std::size_t member) {
  unsigned seen = 0;
  while (true) {
    for (int looks = 0; looks < kLooks * kLooksBetweenRuns; ++looks) {
      if (round_.load(std::memory_order_acquire) != seen) break;
      pause_briefly();
    }
    round_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (leaving_) return;
    (*work_)(member);
    meet();
  }
}

void Team::run(const std::function<void(std::size_t)>& work) {
  work_ = &work;
  if (members_ > 1) {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  work(0);
  meet();
}

void Team::meet() {
  if (members_ == 1) return;
  const unsigned meeting = meeting_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    meeting_.store(meeting + 1, std::memory_order_release);
    return;
  }
  wait_awake([&] { return meeting_.load(std::memory_order_acquire) != meeting; });
}

Share share_of(std::size_t count, std::size_t member, std::size_t members) {
  return {count * member / members, count * (member + 1) / members};
}

}  // namespace myxtts
