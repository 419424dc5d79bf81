// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "device/event.h"
#include "device/stream.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/step_clock.h"
#include "pipeline/transfer_ring.h"

namespace myxtts {

// The model device's side of a trainer.
struct TrainerSide {
  std::function<Event()> make_event = [] { return Event(); };  // on its model device
  Stream stream = {};                                          // where it computes
};

// Where one trainer takes its batches from a pipeline, and what of the pipeline is its own: the
// ring on its model device, and how long that device waited for batches.
//
// next() and wait_until_full() are the trainer's thread; leave() and the readings any thread's.
template <typename Batch>
class BatchOutlet {
 public:
  using Ring = TransferRing<Batch>;
  using Slot = typename Ring::Slot;

  BatchOutlet(std::vector<Batch> slots, const TrainerSide& trainer)
      : ring_(std::move(slots)), steps_(trainer.make_event, trainer.stream) {}

  // Waits until every slot is filled, or all data is there. Throws what a stage failed with.
  void wait_until_full() { ring_.wait_until_full(); }

  // Waits for the next batch; nothing after the last one or after leave(). The model's stream waits
  // for the batch's contents by itself. Throws what a stage failed with.
  [[nodiscard]] std::optional<Slot> next() {
    steps_.asked();
    std::optional<Slot> slot = ring_.take();
    if (slot) steps_.got((*slot)->filled, (*slot)->number);
    return slot;
  }

  // This trainer wants no more; others that the pipeline feeds are not disturbed.
  void leave() { ring_.stop(); }

  Ring& ring() { return ring_; }

  // Adds what is this trainer's own.
  void add_to(PipelineReading& reading) const {
    reading.queues.push_back({.name = "ring", .capacity = ring_.size(), .depth = ring_.depth()});
    reading.readiness = steps_.readiness();
    reading.model_device = steps_.device_time();
  }

 private:
  Ring ring_;
  StepClock steps_;
};

}  // namespace myxtts
