// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "device/stream.h"
#include "pipeline/cache_filler.h"
#include "pipeline/host_batch.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts::test {

// A batch on a device that does not exist.
struct FakeBatch {
  std::int64_t number = -1;
  DataPosition position;
  bool ends_step = true;
  std::int64_t text_count = 0;
  std::int64_t audio_count = 0;
  std::vector<ClipNumber> clips;
  std::vector<std::uint64_t> sounds;        // the hash of each clip's samples in the block
  std::vector<std::int64_t> tokens;         // completed
  std::vector<std::int64_t> audio_targets;  // completed
  std::uint64_t hash = 0;                   // of everything the trainer would see
  Event filled;
  Event consumed;
};

struct FakeTimes {
  std::int64_t number = -1;
  Event began;
  Event ended;
  Event encoded = Event();
  Event sent = Event();  // the slot has it

  void add_to(FeatureTimeReading& sum) const {
    ++sum.batches;
    sum.encode_seconds += encoded.milliseconds_since(began) / 1000;
    sum.prompt_seconds += ended.milliseconds_since(encoded) / 1000;
    sum.transfer_seconds += sent.milliseconds_since(ended) / 1000;
    sum.sending_seconds += sent.milliseconds_since(ended) / 1000;
    sum.transfer_bytes += 1000;
  }
};

// Does what FeatureStage does, with codes from fake_codes() and without a device.
class FakeFeatures {
 public:
  explicit FakeFeatures(std::int64_t text_ids) : text_ids_(text_ids) {}

  std::vector<FakeBatch> make_slots(std::size_t count, std::size_t trainer = 0) const;
  void fill(HostBatch& host, FakeBatch& slot);
  std::vector<FakeTimes> take_times() { return std::exchange(times_, {}); }
  void finish() {}

  std::int64_t stride = 256;  // samples of a code

  CacheFiller* filler = nullptr;   // gets what is computed
  std::int64_t encoded_clips = 0;  // so far

  // Called at the beginning of fill().
  std::function<void(const HostBatch&)> on_fill = {};
  // Called where prompts would be made.
  std::function<void(const HostBatch&)> on_prompts = {};
  // Called where the batch would be copied to the model device.
  std::function<void(const HostBatch&)> on_send = {};

 private:
  void keep(const HostBatch& host);

  const std::int64_t text_ids_;
  std::vector<FakeTimes> times_;
};

}  // namespace myxtts::test
