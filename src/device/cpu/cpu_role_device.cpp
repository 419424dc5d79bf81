// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/cpu_role_device.h"

#include <cstring>
#include <new>
#include <string_view>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "device/cpu/counting_allocator.h"

namespace myxtts {
namespace {

constexpr std::align_val_t kAlignment{64};

// OpenMP counts threads for each thread that starts some, so two roles can have different numbers;
// LibTorch's setting also becomes what threads of later take, which every scope then sets anew.
class CpuScope final : public RoleDevice::Scope {
 public:
  CpuScope(int threads, std::shared_ptr<RoleMemory> memory)
      : before_(at::get_num_threads()), counted_(std::move(memory)) {
    at::set_num_threads(threads);
  }
  CpuScope(const CpuScope&) = delete;
  CpuScope& operator=(const CpuScope&) = delete;
  ~CpuScope() override { at::set_num_threads(before_); }

 private:
  const int before_;
  const CountedThread counted_;
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

std::unique_ptr<RoleDevice> open_cpu_role_device(Role role, const RolePlan& plan) {
  return std::make_unique<CpuRoleDevice>(role, plan);
}

}  // namespace myxtts
