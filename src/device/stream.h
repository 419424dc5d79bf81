// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"

namespace myxtts {

// Where a device does one piece of work after another. A small value: streams are made by a
// RoleDevice and live until the end of the process, as LibTorch's allocator remembers them.
//
// The CPU has one stream, and work on it is done when the call that asked for it returns.
struct Stream {
  int gpu = -1;            // LibTorch's number; -1: the CPU
  std::int64_t id = 0;     // LibTorch's, as in c10::Stream
  void* native = nullptr;  // the cudaStream_t

  bool on_cpu() const { return gpu < 0; }
  friend bool operator==(const Stream&, const Stream&) = default;
};

// A mark in a stream's work. Work of other streams can be made to follow it, and the time between
// two marks is the devices' own, so nobody has to wait for a device in order to measure or to order
// it.
//
//   new ──record(stream)──▶ pending ──(the stream gets there)──▶ completed ──record()──▶ pending
//   ...
//
// One thread at a time records or moves an event; any thread may ask one that was recorded before
// it was handed over. An event that was never recorded is completed and holds nothing up.
class Event {
 public:
  class State;

  // On the CPU, where a mark is reached at once. A GPU's events come from RoleDevice::make_event().
  explicit Event(const Clock& clock = system_clock());
  explicit Event(std::unique_ptr<State> state);
  Event(Event&&) noexcept;
  Event& operator=(Event&&) noexcept;
  ~Event();

  // Never waits. Recording again moves the mark.
  void record(const Stream& stream);

  bool recorded() const { return recorded_; }
  bool completed() const;  // never waits

  // Whatever is queued on `stream` from now on runs after the mark. Never waits.
  void hold_up(const Stream& stream) const;

  // Makes this thread wait until the stream got there.
  void wait() const;

  // The device's time from `earlier` to this mark, negative if it was reached before. Both are
  // completed and of one device.
  double milliseconds_since(const Event& earlier) const;

 private:
  std::unique_ptr<State> state_;
  bool recorded_ = false;
};

// What a kind of device does for its events. Each method is called after the first record() only.
class Event::State {
 public:
  virtual ~State() = default;
  virtual void record(const Stream& stream) = 0;
  virtual bool completed() const = 0;
  virtual void hold_up(const Stream& stream) const = 0;
  virtual void wait() const = 0;
  virtual double milliseconds_since(const State& earlier) const = 0;
};

}  // namespace myxtts
