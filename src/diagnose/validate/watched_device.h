// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <utility>

#include "device/role_device.h"

namespace myxtts {

// A device that remembers between which GPUs its copies went; everything is the given device's,
// which outlives it. One thread.
class WatchedDevice final : public RoleDevice {
 public:
  explicit WatchedDevice(RoleDevice& device) : device_(device) {}

  std::string name() const override { return device_.name(); }
  int gpu() const override { return device_.gpu(); }
  Stream stream() const override { return device_.stream(); }
  Stream make_stream() override { return device_.make_stream(); }
  Event make_event() const override { return device_.make_event(); }
  HostMemory host_memory(std::size_t bytes) const override { return device_.host_memory(bytes); }
  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override {
    ways_.emplace(from.gpu, to.gpu);
    device_.copy(stream, to, from, bytes);
  }
  std::unique_ptr<Scope> enter(const Stream& stream) override { return device_.enter(stream); }
  const RoleMemory& memory() const override { return device_.memory(); }
  void rethrow() const override { device_.rethrow(); }

  // Pairs of LibTorch's numbers, from and to; -1 is host memory.
  const std::set<std::pair<int, int>>& ways() const { return ways_; }

 private:
  RoleDevice& device_;
  mutable std::set<std::pair<int, int>> ways_;
};

}  // namespace myxtts
