// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/counting_allocator.h"

#include <cstddef>
#include <new>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

namespace myxtts {
namespace {

thread_local std::shared_ptr<RoleMemory> counted_as;

// Stands before every block. Blocks may outlive the role that took them: each keeps the count it
// belongs to.
struct alignas(64) BlockHeader {
  std::shared_ptr<RoleMemory> memory;  // null: nobody's
  std::int64_t bytes = 0;
};

void free_block(void* data) {
  if (data == nullptr) return;
  auto* header = static_cast<BlockHeader*>(data) - 1;
  if (header->memory != nullptr) header->memory->give_back(header->bytes);
  header->~BlockHeader();
  c10::free_cpu(header);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = bytes > 0 ? take(bytes) : nullptr;
    return {data, data, &free_block, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &free_block; }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void* take(std::size_t bytes) {
    const auto count = static_cast<std::int64_t>(bytes);
    if (counted_as != nullptr && !counted_as->try_take(count)) throw counted_as->over_cap();
    try {
      void* memory = c10::alloc_cpu(bytes + sizeof(BlockHeader));
      return new (memory) BlockHeader{.memory = counted_as, .bytes = count} + 1;
    } catch (...) {
      if (counted_as != nullptr) counted_as->give_back(count);
      throw;
    }
  }
};

const bool is_installed = [] {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
  return true;
}();

}  // namespace

// Memory of other allocators, and such that came from a file, has no header.
const RoleMemory* counted_owner_of(const c10::DataPtr& data) {
  if (data.get() == nullptr || data.get_deleter() != &free_block) return nullptr;
  return (static_cast<const BlockHeader*>(data.get_context()) - 1)->memory.get();
}

CountedThread::CountedThread(std::shared_ptr<RoleMemory> memory)
    : before_(std::exchange(counted_as, std::move(memory))) {
  MYXTTS_CHECK(is_installed, "the counting allocator is not LibTorch's");
}

CountedThread::~CountedThread() {
  counted_as = std::move(before_);
}

}  // namespace myxtts
