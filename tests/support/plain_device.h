// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "device/role_device.h"
#include "pipeline/staging_pool.h"

namespace myxtts::test {

// A device that is the host itself, without LibTorch. What a test may change is changed before
// threads use it.
class PlainDevice final : public RoleDevice {
 public:
  explicit PlainDevice(Role role = Role::Data) : memory_(role, "a plain device") {}

  std::string name() const override { return "a plain device"; }
  int gpu() const override { return -1; }
  Stream stream() const override { return {}; }
  Stream make_stream() override { return {}; }
  Event make_event() const override {
    return on_wait ? Event(std::make_unique<WaitingEvent>(on_wait)) : Event();
  }
  HostMemory host_memory(std::size_t bytes) const override { return plain_memory(bytes); }
  void copy(const Stream&, DeviceBytes to, DeviceBytes from, std::size_t bytes) const override {
    if (bytes > 0) std::memcpy(to.data, from.data, bytes);
  }
  std::unique_ptr<Scope> enter(const Stream&) override { return std::make_unique<Scope>(); }
  const RoleMemory& memory() const override { return memory_; }
  void rethrow() const override { throw; }

  // What waiting for an event does: it may wait as long as it likes, or throw.
  std::function<void()> on_wait = {};

 private:
  class WaitingEvent final : public Event::State {
   public:
    explicit WaitingEvent(std::function<void()> wait) : wait_(std::move(wait)) {}
    void record(const Stream&) override {}
    bool completed() const override { return false; }
    void hold_up(const Stream&) const override {}
    void wait() const override { wait_(); }
    double milliseconds_since(const State&) const override { return 0; }

   private:
    const std::function<void()> wait_;
  };

  RoleMemory memory_;
};

}  // namespace myxtts::test
