// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/decode_threads.h"

#include <thread>

#include <fmt/format.h>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr int kSpins = 1000;           // before a core is yielded
constexpr int kSpinsBetweenRuns = 10;  // times kSpins, before a member sleeps

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins until `done`; yields the core where that takes long, as on a busy machine.
template <typename Done>
void spin_until(const Done& done) {
  for (int spins = 0; !done(); ++spins) {
    if (spins < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

DecodeThreads::DecodeThreads(std::size_t members) : members_(members) {
  MYXTTS_CHECK(members >= 1, "decoding needs at least one thread");
}

DecodeThreads::~DecodeThreads() {
  leaving_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  threads_.join();
}

void DecodeThreads::start() {
  for (std::size_t member = 1; member < members_; ++member) {
    threads_.start(fmt::format("decode {}", member), [this, member] { serve(member); });
  }
}

void DecodeThreads::serve(std::size_t member) {
  unsigned seen = 0;
  while (true) {
    for (int spins = 0; spins < kSpins * kSpinsBetweenRuns; ++spins) {
      if (round_.load(std::memory_order_acquire) != seen) break;
      pause_briefly();
    }
    round_.wait(seen, std::memory_order_acquire);
    ++seen;
    if (leaving_) return;
    (*work_)(member);
    barrier();
  }
}

void DecodeThreads::run(const std::function<void(std::size_t)>& work) {
  work_ = &work;
  if (members_ > 1) {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  work(0);
  barrier();
}

void DecodeThreads::barrier() {
  if (members_ == 1) return;
  const unsigned passed = barriers_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
    arrived_.store(0, std::memory_order_relaxed);
    barriers_.store(passed + 1, std::memory_order_release);
    return;
  }
  spin_until([&] { return barriers_.load(std::memory_order_acquire) != passed; });
}

Share share_of(std::size_t count, std::size_t member, std::size_t members) {
  return {count * member / members, count * (member + 1) / members};
}

}  // namespace myxtts
