// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/counting_allocator.h"

#include <utility>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace myxtts {
namespace {

thread_local std::shared_ptr<RoleMemory> counted_as;

// Tensors may outlive the role that made them: each keeps the count it belongs to.
class CountedBlock {
 public:
  CountedBlock(std::shared_ptr<RoleMemory> memory, std::size_t bytes, c10::Allocator& below)
      : memory_(std::move(memory)), bytes_(static_cast<std::int64_t>(bytes)) {
    data_ = below.allocate(bytes);
    if (!memory_->try_take(bytes_)) throw memory_->over_cap();
  }
  CountedBlock(const CountedBlock&) = delete;
  CountedBlock& operator=(const CountedBlock&) = delete;
  ~CountedBlock() { memory_->give_back(bytes_); }

  void* data() const { return data_.get(); }

  static void free(void* block) { delete static_cast<CountedBlock*>(block); }

 private:
  const std::shared_ptr<RoleMemory> memory_;
  const std::int64_t bytes_;
  c10::DataPtr data_;
};

class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& below) : below_(below) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (counted_as == nullptr || bytes == 0) return below_.allocate(bytes);
    auto block = std::make_unique<CountedBlock>(counted_as, bytes, below_);
    void* data = block->data();
    return {data, block.release(), &CountedBlock::free, c10::Device(c10::kCPU)};
  }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  c10::Allocator& below_;
};

}  // namespace

void install_counting_allocator() {
  static CountingAllocator allocator(*c10::GetCPUAllocator());
  static const bool once = [] {
    c10::SetCPUAllocator(&allocator, /*priority=*/1);
    return true;
  }();
  static_cast<void>(once);
}

CountedThread::CountedThread(std::shared_ptr<RoleMemory> memory)
    : before_(std::exchange(counted_as, std::move(memory))) {}

CountedThread::~CountedThread() {
  counted_as = std::move(before_);
}

}  // namespace myxtts
