// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/role_device.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

// One array on its way from the data device to the model device.
struct TransferPiece {
  DeviceBytes to;
  DeviceBytes from;
  std::size_t bytes = 0;
};

// Copies batches from the data device to the model device, on a stream of its own, along the path
// of the plan. Nothing waits: a transfer follows the events it is given. One thread calls it.
class BatchTransfer {
 public:
  // `largest` is what the pieces of one batch sum up to at most, each rounded up to 64 bytes.
  BatchTransfer(RoleDevice& data, RoleDevice& model, BatchPath path, std::size_t largest);

  // Queues the pieces after `made` (on the data device) and `free` (on the model device), and
  // records `left` when the data device's arrays may be written again and `arrived` when the model
  // device's may be read.
  struct Marks {
    const Event& made;
    const Event& free;
    Event& left;
    Event& arrived;
  };
  // What it took, once both have completed: through the host two copies one after the other, which
  // those of two batches overlap.
  struct Times {
    struct Copy {
      Event began;
      Event ended;

      bool completed() const { return ended.completed(); }
      double seconds() const { return ended.milliseconds_since(began) / 1000; }
    };
    std::vector<Copy> copies;
    std::int64_t bytes = 0;

    bool completed() const;
    double seconds() const;  // of the longer one: batches can follow each other no faster
  };
  Times send(std::span<const TransferPiece> pieces, const Marks& marks);

  RoleDevice& model() const { return model_; }

  // Where the model device's end of the copies runs; work queued on it comes after them.
  const Stream& stream() const { return arriving_; }

  void set_probe(const StageProbe* probe) { probe_ = probe; }  // of a trial; outlives it

 private:
  Times send_directly(std::span<const TransferPiece> pieces, const Marks& marks);
  Times send_through_host(std::span<const TransferPiece> pieces, const Marks& marks);

  // Host memory for one batch on its way; two take turns.
  struct HostBuffer {
    HostMemory memory;
    Event written;
    Event read;
  };

  RoleDevice& data_;
  RoleDevice& model_;
  const BatchPath path_;
  const std::size_t largest_;
  Stream leaving_;   // on the data device
  Stream arriving_;  // on the model device
  std::vector<HostBuffer> buffers_;
  std::size_t next_buffer_ = 0;
  const StageProbe* probe_ = nullptr;
};

}  // namespace myxtts
