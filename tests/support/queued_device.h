// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "device/role_device.h"

namespace myxtts::test {

// Streams that do nothing until they are told to, and then in any order that their events allow: a
// GPU at its most inconvenient. For one thread.
class QueuedStreams {
 public:
  Stream make();

  void queue(const Stream& stream, std::function<void()> work);

  // Does one piece of work of a stream drawn at random among those that can go on. False: none can.
  bool run_one(std::mt19937& random);
  void run_all(std::mt19937& random);

 private:
  friend class QueuedEvent;
  struct Piece {
    std::function<bool()> may_run;
    std::function<void()> work;
  };
  std::vector<std::deque<Piece>> streams_;
};

// A device whose copies and events are pieces of such streams.
class QueuedDevice final : public RoleDevice {
 public:
  QueuedDevice(Role role, int gpu, QueuedStreams& streams);

  std::string name() const override { return "a queue"; }
  int gpu() const override { return gpu_; }
  Stream stream() const override { return stream_; }
  Stream make_stream() override;
  Event make_event() const override;
  HostMemory host_memory(std::size_t bytes) const override;
  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override;
  std::unique_ptr<Scope> enter(const Stream&) override { return std::make_unique<Scope>(); }
  const RoleMemory& memory() const override { return memory_; }
  void rethrow() const override { throw; }

 private:
  const int gpu_;
  QueuedStreams& streams_;
  Stream stream_;
  RoleMemory memory_;
};

}  // namespace myxtts::test
