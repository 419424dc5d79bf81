// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feature_stage.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/clock.h"
#include "base/error.h"
#include "device/torch_device.h"

namespace myxtts {
namespace {

DeviceBytes bytes_of(const at::Tensor& tensor) {
  return {.data = tensor.data_ptr(), .gpu = tensor.is_cuda() ? tensor.get_device() : -1};
}

}  // namespace

struct FeatureStage::Side {
  at::Tensor block = {};       // [bytes] uint8: the staging block as it was uploaded
  Batch<TensorOf> batch = {};  // what the host laid out as views of the block, and what is made
  Event made;
  Event left;
};

namespace {

// The first `count` places of a slot's storage: a batch's own size at an address that stays.
at::Tensor resized_view(const at::Tensor& tensor, std::int64_t count) {
  const auto room = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  MYXTTS_CHECK(count <= room, "an array of {} does not fit into a slot of {}", count, room);
  return tensor.as_strided({count}, {1}, 0);
}

}  // namespace

FeatureStage::FeatureStage(RoleDevice& data, RoleDevice& model, BatchPath path,
                           const FeatureNetworks& networks)
    : FeatureStage(data, std::array{BatchTarget{.model = model, .path = path}}, networks) {}

FeatureStage::FeatureStage(RoleDevice& data, std::span<const BatchTarget> targets,
                           const FeatureNetworks& networks)
    : data_(data), networks_(networks) {
  const auto scope = data_.enter(data_.stream());
  const auto device = torch_device(data_);
  features_ = std::make_unique<ClipFeatures>(*networks_.dvae, networks_.mel_stats, device);
  prompts_ = std::make_unique<PromptMels>(networks_.mel_stats, device);
  if (!networks_.windows.empty()) {
    windows_ = std::make_unique<ClipWindows>(networks_.windows, networks_.mel_stats,
                                             networks_.speaker_dim, device);
  }
  if (networks_.windows.content().with_voices) {
    MYXTTS_CHECK(networks_.speaker_encoder != nullptr,
                 "windows with voices need a speaker encoder");
    voices_ = std::make_unique<ClipVoices>(*networks_.speaker_encoder, device);
  }
  for (auto& side : sides_) {
    side = std::make_unique<Side>(
        Side{.block = at::empty({0}, at::TensorOptions(device).dtype(at::kByte)),
             .made = data_.make_event(),
             .left = data_.make_event()});
    side->batch.prompt_mel = empty_prompts(device);
    if (windows_) side->batch.windows = windows_->empty_windows(device);
  }
  for (const BatchTarget& target : targets) {
    transfers_.push_back(
        std::make_unique<BatchTransfer>(data_, target.model, target.path, largest_bytes()));
  }
}

FeatureStage::~FeatureStage() = default;

at::Tensor FeatureStage::empty_prompts(c10::Device device) const {
  return at::zeros({networks_.clips, prompts_->bands(), prompts_->frames()},
                   at::TensorOptions(at::kFloat).device(device));
}

Batch<TensorOf> FeatureStage::largest_batch(c10::Device device) const {
  const auto zeros = [device](std::int64_t count, at::ScalarType type = at::kLong) {
    return at::zeros({count}, at::TensorOptions(type).device(device));
  };
  const RowSizes& sizes = networks_.rows;
  Batch<TensorOf> largest;
  GptBatch& rows = largest.rows;
  // The clips and the padding, which may be several segments, and a 0 before them.
  rows.segment_ends = zeros(std::max(networks_.clips + 1, sizes.segments) + 1, at::kInt);
  rows.tokens = zeros(sizes.tokens);
  rows.positions = zeros(sizes.tokens);
  rows.target_rows = zeros(sizes.text_targets + sizes.audio_targets);
  rows.text_targets = zeros(sizes.text_targets);
  rows.text_clips = zeros(sizes.text_targets);
  rows.audio_targets = zeros(sizes.audio_targets);
  rows.audio_clips = zeros(sizes.audio_targets);
  rows.text_count = at::ones({}, at::TensorOptions(at::kFloat).device(device));
  rows.audio_count = rows.text_count.clone();
  largest.prompt_mel = empty_prompts(device);
  if (windows_) largest.windows = windows_->empty_windows(device);
  return largest;
}

std::size_t FeatureStage::largest_bytes() const {
  std::size_t bytes = 0;
  const auto add = [&bytes](const at::Tensor& tensor) {
    if (tensor.defined()) bytes += aligned(tensor.nbytes());
  };
  const Batch<TensorOf> largest = largest_batch(c10::kMeta);
  for_each_slot_array(add, largest);
  return bytes;
}

std::vector<DeviceBatch> FeatureStage::make_slots(std::size_t count, std::size_t trainer) const {
  RoleDevice& model = transfers_.at(trainer)->model();
  const auto scope = model.enter(model.stream());
  std::vector<DeviceBatch> slots(count);
  for (DeviceBatch& slot : slots) {
    static_cast<Batch<TensorOf>&>(slot) = largest_batch(torch_device(model));
    slot.filled = model.make_event();
    slot.consumed = model.make_event();
    slot.consumed.record(model.stream());  // after the zeros: no copy may come before them
  }
  return slots;
}

void FeatureStage::fill(HostBatch& host, DeviceBatch& slot) {
  const at::NoGradGuard no_grad;
  Side& side = *sides_[static_cast<std::size_t>(filled_++) % sides_.size()];
  try {
    const auto scope = data_.enter(data_.stream());
    FeatureTimes times{.number = host.number,
                       .began = data_.make_event(),
                       .uploaded = data_.make_event(),
                       .encoded = data_.make_event(),
                       .ended = data_.make_event()};
    side.left.hold_up(data_.stream());
    times.began.record(data_.stream());
    upload(host, side);
    times.uploaded.record(data_.stream());
    const auto sounds = unknown_sounds(host, side);
    const auto encoded = encode(sounds);
    times.encoded.record(data_.stream());
    complete_rows(host, encoded, side.batch);
    make_prompts(host, encoded, side.batch);
    make_windows(host, sounds, encoded, side.batch.windows);
    make_voices(host, side.batch);
    side.made.record(data_.stream());
    times.ended.record(data_.stream());
    const auto sending = system_clock().now();
    times.transfer = send(host, side, slot);
    times.sending_seconds = std::chrono::duration<double>(system_clock().now() - sending).count();
    times_.push_back(std::move(times));
    if (filler_ != nullptr) keep(host, encoded);
  } catch (const c10::Error&) {
    data_.rethrow();
  }
}

void FeatureStage::upload(HostBatch& host, Side& side) {
  const auto bytes = host.block->bytes();
  const auto count = static_cast<std::int64_t>(bytes.size());
  if (side.block.size(0) < count) {
    const auto options = side.block.options();
    for_each_host_array([](at::Tensor& old) { old.reset(); }, side.batch);
    side.block.reset();  // before the larger one is taken
    side.block = at::empty({count + count / 4}, options);
  }
  data_.copy(data_.stream(), bytes_of(side.block), {.data = bytes.data()}, bytes.size());
  auto uploaded = std::make_shared<Event>(data_.make_event());
  uploaded->record(data_.stream());
  host.block->read_until([uploaded] { uploaded->wait(); });
  const auto view = [&]<typename Value>(std::span<const Value> array, at::Tensor& tensor) {
    const auto* first = reinterpret_cast<const std::byte*>(array.data());
    const auto offset = array.empty() ? 0 : first - bytes.data();
    tensor = side.block.narrow(0, offset, static_cast<std::int64_t>(array.size_bytes()))
                 .view(c10::CppTypeToScalarType<Value>::value);
  };
  for_each_host_array(view, std::as_const(host), side.batch);
}

// Of the clips whose codes are not known, in order.
std::vector<ClipSound> FeatureStage::unknown_sounds(const HostBatch& host, const Side& side) const {
  std::vector<ClipSound> unknown;
  for (const HostClip& clip : host.host_clips) {
    if (clip.codes_known) continue;
    unknown.push_back(
        {.samples = side.batch.samples.narrow(0, clip.first_sample, clip.source_samples),
         .rate = clip.source_rate});
  }
  return unknown;
}

std::vector<EncodedClip> FeatureStage::encode(std::span<const ClipSound> sounds) {
  if (probe_ != nullptr && !sounds.empty()) probe_->report(Work::Features);
  return networks_.want_codes() ? features_->encode(sounds) : features_->load(sounds);
}

// See Note [Unknown codes].
void FeatureStage::complete_rows(const HostBatch& host, std::span<const EncodedClip> encoded,
                                 Batch<TensorOf>& batch) {
  if (!encoded.empty() && networks_.want_codes()) {
    std::vector<at::Tensor> codes;
    auto next = encoded.begin();
    for (const HostClip& clip : host.host_clips) {
      if (!clip.codes_known) codes.push_back((next++)->codes.narrow(0, 0, clip.codes));
    }
    const auto found = at::cat(codes);  // [U]
    batch.rows.tokens.index_copy_(0, batch.code_tokens, found + networks_.gpt.text_ids);
    batch.rows.audio_targets.index_copy_(0, batch.code_targets,
                                         found.index_select(0, batch.code_target_codes));
  }
  if (batch.noise_tokens.numel() == 0) return;
  batch.rows.tokens.index_copy_(0, batch.noise_tokens, batch.noise_ids);
}

void FeatureStage::make_prompts(const HostBatch& host, std::span<const EncodedClip> encoded,
                                Batch<TensorOf>& batch) {
  std::vector<at::Tensor> prompts;
  auto next = encoded.begin();
  for (const HostClip& clip : host.host_clips) {
    const auto length = clip.prompt.last - clip.prompt.first;
    prompts.push_back(clip.codes_known ? batch.samples.narrow(0, clip.first_sample, length)
                                       : (next++)->samples.narrow(0, clip.prompt.first, length));
  }
  std::vector<at::Tensor> chosen;
  for (const HostClip& clip : host.host_clips) chosen.push_back(prompts[clip.prompt_row]);
  prompts_->make(chosen, batch.prompt_mel, data_.stream());
}

void FeatureStage::make_windows(const HostBatch& host, std::span<const ClipSound> sounds,
                                std::span<const EncodedClip> encoded, SoundWindows& windows) {
  if (!windows_) return;
  MYXTTS_CHECK(encoded.size() == host.host_clips.size(), "windows need the sound of every clip");
  windows_->make(sounds, encoded, host.windows.starts, windows);
}

void FeatureStage::make_voices(const HostBatch& host, Batch<TensorOf>& batch) {
  if (!voices_) return;
  std::vector<ClipSound> clips;
  for (const HostClip& clip : host.host_clips) {
    clips.push_back(
        {.samples = batch.samples.narrow(0, clip.first_sample - clip.shift, clip.source_samples),
         .rate = clip.source_rate,
         .number = clip.number});
  }
  voices_->make(clips, batch.windows.voices);
}

// After the batch itself, which is waited for.
void FeatureStage::keep(const HostBatch& host, std::span<const EncodedClip> encoded) {
  std::vector<ComputedClip> clips;
  auto next = encoded.begin();
  for (const HostClip& clip : host.host_clips) {
    if (clip.codes_known) continue;
    clips.push_back({.identity = clip.identity,
                     .samples = bytes_of(next->samples),
                     .sample_count = static_cast<std::size_t>(next->samples.numel()),
                     .codes = bytes_of(next->codes),
                     .code_count = static_cast<std::size_t>(clip.codes)});
    ++next;
  }
  filler_->keep(clips);
}

BatchTransfer::Times FeatureStage::send(const HostBatch& host, Side& side, DeviceBatch& slot) {
  std::vector<TransferPiece> pieces;
  const auto add = [&pieces](const at::Tensor& made, at::Tensor& place) {
    if (!place.defined()) return;  // the stage does not use it
    if (place.dim() == 1) place = resized_view(place, made.size(0));
    MYXTTS_CHECK(place.numel() == made.numel(), "a slot has another shape");
    pieces.push_back({.to = bytes_of(place), .from = bytes_of(made), .bytes = made.nbytes()});
  };
  for_each_slot_array(add, std::as_const(side.batch), slot);
  BatchTransfer& transfer = *transfers_.at(host.trainer);
  slot.filled = transfer.model().make_event();  // the trainer keeps the last one to measure with
  auto times = transfer.send(
      pieces,
      {.made = side.made, .free = slot.consumed, .left = side.left, .arrived = slot.filled});
  static_cast<BatchInfo&>(slot) = host;
  copy_row_info(host.rows, slot.rows);
  return times;
}

void FeatureStage::keep_in(FeatureCache& cache, std::size_t blocks) {
  filler_ = std::make_unique<CacheFiller>(data_, cache, blocks);
  filler_->start();
}

void FeatureStage::finish() {
  if (filler_ != nullptr) filler_->finish();
}

void FeatureStage::set_probe(const StageProbe* probe) {
  probe_ = probe;
  for (const auto& transfer : transfers_) transfer->set_probe(probe);
}

void FeatureTimes::add_to(FeatureTimeReading& sum) const {
  ++sum.batches;
  sum.upload_seconds += uploaded.milliseconds_since(began) / 1000;
  sum.encode_seconds += encoded.milliseconds_since(uploaded) / 1000;
  sum.prompt_seconds += ended.milliseconds_since(encoded) / 1000;
  sum.transfer_seconds += transfer.seconds();
  sum.sending_seconds += sending_seconds;
  sum.transfer_bytes += transfer.bytes;
}

std::vector<FeatureTimes> FeatureStage::take_times() {
  std::vector<FeatureTimes> ended;
  std::size_t count = 0;
  while (count < times_.size() && times_[count].completed()) ++count;
  for (std::size_t i = 0; i < count; ++i) ended.push_back(std::move(times_[i]));
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(count));
  return ended;
}

}  // namespace myxtts
