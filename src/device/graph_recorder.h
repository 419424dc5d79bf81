// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace myxtts {

// Work of a GPU that was recorded and can be queued again as a whole, for the price of one launch.
// It reads and writes the same memory each time.
class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;

  // Queues the work on the role's stream. Random numbers are drawn from where LibTorch's generator
  // stands. Never waits.
  virtual void replay() = 0;
};

// Records work of a role as graphs. They share one pool of memory, counted as the role's own, so
// record the largest first; whatever a graph leaves there is gone once another one was replayed.
//
// One thread. The device outlives it, and it outlives its graphs.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;

  // Runs `work`, whose kernels are recorded in place of being started. Throws what it throws, and
  // c10::Error where it does what cannot be recorded.
  virtual std::unique_ptr<RecordedGraph> record(const std::function<void()>& work) = 0;

  // While work is recorded: a place in its random numbers, and back to it, so that it can draw
  // numbers a second time.
  virtual std::uint64_t random_place() const = 0;
  virtual void go_to(std::uint64_t place) = 0;
};

}  // namespace myxtts
