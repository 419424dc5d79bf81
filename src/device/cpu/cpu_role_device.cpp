// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cpu_role_device.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include "base/error.h"

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

// LibTorch's allocator from the start of the process, since memory must go back to where it came
// from; for threads without a role it only hands on.
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

constexpr std::align_val_t kAlignment{64};

// OpenMP counts threads for each thread that starts some, so two roles can have different numbers;
// LibTorch's setting also becomes what threads of later take, which every scope then sets anew.
class CpuScope final : public RoleDevice::Scope {
 public:
  CpuScope(int threads, std::shared_ptr<RoleMemory> memory)
      : threads_before_(at::get_num_threads()),
        counted_before_(std::exchange(counted_as, std::move(memory))) {
    MYXTTS_CHECK(is_installed, "the counting allocator is not LibTorch's");
    at::set_num_threads(threads);
  }
  CpuScope(const CpuScope&) = delete;
  CpuScope& operator=(const CpuScope&) = delete;
  ~CpuScope() override {
    at::set_num_threads(threads_before_);
    counted_as = std::move(counted_before_);
  }

 private:
  const int threads_before_;
  std::shared_ptr<RoleMemory> counted_before_;
};

class CpuRoleDevice final : public RoleDevice {
 public:
  CpuRoleDevice(Role role, const RolePlan& plan)
      : threads_(plan.threads),
        memory_(std::make_shared<RoleMemory>(role, "the CPU", plan.memory_cap_bytes)) {}

  std::string name() const override { return "the CPU"; }
  int gpu() const override { return -1; }
  Stream stream() const override { return {}; }
  Stream make_stream() override { return {}; }
  Event make_event() const override { return Event(); }

  HostMemory host_memory(std::size_t bytes) const override {
    return {static_cast<std::byte*>(::operator new(bytes, kAlignment)),
            [](std::byte* memory) { ::operator delete(memory, kAlignment); }};
  }

  void copy(const Stream&, DeviceBytes to, DeviceBytes from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(to.data, from.data, bytes);
  }

  std::unique_ptr<Scope> enter(const Stream&) override {
    return std::make_unique<CpuScope>(threads_, memory_);
  }

  const RoleMemory& memory() const override { return *memory_; }

  void rethrow() const override {
    try {
      throw;
    } catch (const c10::Error& error) {
      const std::string_view what = error.what_without_backtrace();
      if (what.find("DefaultCPUAllocator") == std::string_view::npos) throw;
      throw DeviceError(
          "There is no memory left on the CPU; lower --batch-size and raise --grad-accum, or take "
          "a "
          "smaller model.");
    }
  }

 private:
  const int threads_;
  const std::shared_ptr<RoleMemory> memory_;
};

}  // namespace

// Memory of other allocators, and such that came from a file, has no header.
const RoleMemory* counted_owner_of(const c10::DataPtr& data) {
  if (data.get() == nullptr || data.get_deleter() != &free_block) return nullptr;
  return (static_cast<const BlockHeader*>(data.get_context()) - 1)->memory.get();
}

std::unique_ptr<RoleDevice> open_cpu_role_device(Role role, const RolePlan& plan) {
  return std::make_unique<CpuRoleDevice>(role, plan);
}

}  // namespace myxtts
