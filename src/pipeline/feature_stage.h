// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "pipeline/batch_transfer.h"
#include "pipeline/cache_filler.h"
#include "pipeline/clip_features.h"
#include "pipeline/host_batch.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/sound_features.h"

namespace myxtts {

// What the feature stage computes with, on the data device, and how large a batch can be.
struct FeatureNetworks {
  GptConfig gpt;
  std::int64_t clips = 0;      // that a batch holds at most
  RowSizes rows = {};          // the largest of each
  const Dvae* dvae = nullptr;  // outlives the stage
  at::Tensor mel_stats;        // [bands]

  WindowPlan windows = {};                          // of parts that train on sound
  const SpeakerEncoder* speaker_encoder = nullptr;  // where they have voices; outlives the stage
  std::int64_t speaker_dim = 0;

  // Of the parts that the codes of clips matter to.
  bool want_codes() const { return windows.empty() || windows.content().with_voices; }
};

// Where batches of one trainer go, and along which path. The device outlives the stage.
struct BatchTarget {
  RoleDevice& model;
  BatchPath path = BatchPath::PlainMemory;
};

// When the data device worked on a batch, for meters and the trace.
struct FeatureTimes {
  std::int64_t number = -1;
  Event began;
  Event uploaded;
  Event encoded;
  Event ended;
  BatchTransfer::Times transfer = {};
  double sending_seconds = 0;  // of the thread

  bool completed() const { return ended.completed() && transfer.completed(); }
  void add_to(FeatureTimeReading& sum) const;
};

// The last stage on the data device: sound becomes codes, prompt spectrograms and windows, rows are
// completed, and the batch is sent to a slot of the ring.
//
//   staging block ──upload──▶ samples, rows ──features──▶ rows with codes, prompt mel, windows ──▶
//   slot └──────────── the data role's own stream ────────────────────────────────────────┘└
//   transfer ┘
//
// fill() queues all of it and waits for nothing: the order is kept by events. One thread calls it.
// Where it feeds several trainers, each has its own model device and its own way there; what
// computes is there once.
class FeatureStage {
 public:
  FeatureStage(RoleDevice& data, std::span<const BatchTarget> targets,
               const FeatureNetworks& networks);
  FeatureStage(RoleDevice& data, RoleDevice& model, BatchPath path,
               const FeatureNetworks& networks);
  ~FeatureStage();

  // The slots of a ring, on the model device of a trainer, for the largest batch.
  std::vector<DeviceBatch> make_slots(std::size_t count, std::size_t trainer = 0) const;

  // Queues everything that fills `slot`, one of the batch's trainer, from `host`. The slot's
  // `filled` is recorded; the staging block may go back at once, it knows until when it is read.
  void fill(HostBatch& host, DeviceBatch& slot);

  // From now on, what is computed of clips goes there as well, through `blocks` of memory; before
  // the first batch. The cache outlives the stage.
  void keep_in(FeatureCache& cache, std::size_t blocks = CacheFiller::kBlocks);

  // Waits until all of that is in the cache. No batch is filled any more.
  void finish();

  void set_probe(const StageProbe* probe);  // of a trial; outlives the stage

  // Of the batches filled since the last call whose work has ended, oldest first.
  std::vector<FeatureTimes> take_times();

 private:
  struct Side;  // one of the two sets of tensors on the data device that take turns

  at::Tensor empty_prompts(c10::Device device) const;
  Batch<TensorOf> largest_batch(c10::Device device) const;  // a slot's tensors
  std::size_t largest_bytes() const;                        // that a batch sends

  void upload(HostBatch& host, Side& side);
  std::vector<ClipSound> unknown_sounds(const HostBatch& host, const Side& side) const;
  std::vector<EncodedClip> encode(std::span<const ClipSound> sounds);
  void complete_rows(const HostBatch& host, std::span<const EncodedClip> encoded,
                     Batch<TensorOf>& batch);
  void make_prompts(const HostBatch& host, std::span<const EncodedClip> encoded,
                    Batch<TensorOf>& batch);
  void keep(const HostBatch& host, std::span<const EncodedClip> encoded);
  void make_windows(const HostBatch& host, std::span<const ClipSound> sounds,
                    std::span<const EncodedClip> encoded, SoundWindows& windows);
  void make_voices(const HostBatch& host, Batch<TensorOf>& batch);
  BatchTransfer::Times send(const HostBatch& host, Side& side, DeviceBatch& slot);

  RoleDevice& data_;
  const FeatureNetworks networks_;
  std::unique_ptr<ClipFeatures> features_;
  std::unique_ptr<PromptMels> prompts_;
  std::unique_ptr<ClipWindows> windows_;  // null: the stage takes none
  std::unique_ptr<ClipVoices> voices_;    // of the vocoder's
  std::array<std::unique_ptr<Side>, 2> sides_;
  std::vector<std::unique_ptr<BatchTransfer>> transfers_;  // one for each trainer
  const StageProbe* probe_ = nullptr;
  std::int64_t filled_ = 0;
  std::vector<FeatureTimes> times_;
  std::unique_ptr<CacheFiller> filler_;  // null: nothing is cached
};

}  // namespace myxtts
