// SPDX-License-Identifier: Apache-2.0
#include "support/largest_allocation.h"

#include <atomic>
#include <fstream>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MYXTTS_HAS_ALLOCATION_HOOKS
#endif

namespace myxtts::test {

#ifdef MYXTTS_HAS_ALLOCATION_HOOKS

// Both sanitizers' libraries have it; their header is not always installed.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             std::size_t),
                                                         void (*free_hook)(const volatile void*));

namespace {

std::atomic<std::size_t> largest{0};

void see_allocation(const volatile void*, std::size_t size) {
  std::size_t seen = largest.load(std::memory_order_relaxed);
  while (size > seen && !largest.compare_exchange_weak(seen, size)) {
  }
}

void see_release(const volatile void*) {}

}  // namespace

LargestAllocation::LargestAllocation() {
  static const int installed =
      __sanitizer_install_malloc_and_free_hooks(see_allocation, see_release);
  before_ = static_cast<std::size_t>(installed > 0 ? 0 : 1);
  largest = 0;
}

std::size_t LargestAllocation::bytes() const {
  return before_ == 0 ? largest.load() : static_cast<std::size_t>(-1);
}

#else

namespace {

std::size_t peak_of_address_space() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == "VmPeak:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

LargestAllocation::LargestAllocation() : before_(peak_of_address_space()) {}

std::size_t LargestAllocation::bytes() const {
  return peak_of_address_space() - before_;
}

#endif

}  // namespace myxtts::test
