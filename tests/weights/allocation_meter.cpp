// SPDX-License-Identifier: Apache-2.0
#include "weights/allocation_meter.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting = false;
std::atomic<std::int64_t> held = 0;
std::atomic<std::int64_t> highest = 0;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size);
  if (counting && memory != nullptr) {
    const std::int64_t now = held += static_cast<std::int64_t>(malloc_usable_size(memory));
    highest = std::max<std::int64_t>(highest, now);
  }
  return memory;
}

void* operator new(std::size_t size) {
  void* memory = ::operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  if (counting && memory != nullptr) {
    held -= static_cast<std::int64_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  ::operator delete(memory);
}

namespace myxtts::test {

AllocationMeter::AllocationMeter() {
  held = 0;
  highest = 0;
  counting = true;
}

AllocationMeter::~AllocationMeter() {
  counting = false;
}

std::size_t AllocationMeter::peak() const {
  return static_cast<std::size_t>(highest.load());
}

}  // namespace myxtts::test
