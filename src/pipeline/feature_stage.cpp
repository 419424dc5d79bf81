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

struct FeatureStage::SlotArray {
  at::Tensor made;   // on the data device
  at::Tensor* slot;  // on the model device
};

struct FeatureStage::Side {
  at::Tensor block;       // [bytes] uint8: the staging block as it was uploaded
  at::Tensor prompt_mel;  // [clips, bands, frames]
  SoundWindows windows;   // what is made here: mel, sound, voices
  Event made;
  Event left;

  // An array of the host batch, as it lies in the block.
  template <typename Value>
  at::Tensor view(const HostBatch& host, std::span<const Value> array, at::ScalarType type) const {
    const auto* first = reinterpret_cast<const std::byte*>(array.data());
    const auto offset = array.empty() ? 0 : first - host.block->bytes().data();
    return block.narrow(0, offset, static_cast<std::int64_t>(array.size_bytes())).view(type);
  }
  at::Tensor ids(const HostBatch& host, std::span<const std::int64_t> array) const {
    return view(host, array, at::kLong);
  }
};

namespace {

std::size_t bytes_in(const SoundWindows& windows) {
  std::size_t bytes = 0;
  for (const auto* tensor : {&windows.weights, &windows.clips, &windows.mel, &windows.sound,
                             &windows.first_frames, &windows.voices, &windows.speakers}) {
    if (tensor->defined()) bytes += tensor->nbytes();
  }
  return bytes;
}

// The clips and the padding, which may be several segments, and a 0 before them.
std::int64_t segment_ends_of(const BatchBounds& bounds) {
  return std::max(bounds.clips + 1, bounds.rows.segments) + 1;
}

// Sizes a slot's rows for the largest batch.
GptBatch largest_rows(const BatchBounds& bounds, c10::Device device) {
  const auto ids = [device](std::int64_t count) {
    return at::zeros({count}, at::TensorOptions(at::kLong).device(device));
  };
  const RowSizes& rows = bounds.rows;
  const auto count = at::ones({}, at::TensorOptions(at::kFloat).device(device));
  return {.clips = 0,
          .lengths = {},
          .longest = 0,
          .segment_ends =
              at::zeros({segment_ends_of(bounds)}, at::TensorOptions(at::kInt).device(device)),
          .tokens = ids(rows.tokens),
          .positions = ids(rows.tokens),
          .target_rows = ids(rows.text_targets + rows.audio_targets),
          .text_targets = ids(rows.text_targets),
          .text_clips = ids(rows.text_targets),
          .audio_targets = ids(rows.audio_targets),
          .audio_clips = ids(rows.audio_targets),
          .text_count = count,
          .audio_count = count.clone()};
}

// The first `count` places of a slot's storage: a batch's own size at an address that stays.
at::Tensor resized_view(const at::Tensor& tensor, std::int64_t count) {
  const auto room = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.itemsize());
  MYXTTS_CHECK(count <= room, "an array of {} does not fit into a slot of {}", count, room);
  return tensor.as_strided({count}, {1}, 0);
}

}  // namespace

FeatureStage::FeatureStage(RoleDevice& data, RoleDevice& model, BatchPath path,
                           const FeatureNetworks& networks, const BatchBounds& bounds)
    : FeatureStage(data, std::array{BatchTarget{.model = model, .path = path}}, networks, bounds) {}

FeatureStage::FeatureStage(RoleDevice& data, std::span<const BatchTarget> targets,
                           const FeatureNetworks& networks, const BatchBounds& bounds)
    : data_(data), networks_(networks), bounds_(bounds) {
  const auto scope = data_.enter(data_.stream());
  const auto device = torch_device(data_);
  features_ = std::make_unique<ClipFeatures>(*networks_.dvae, networks_.mel_stats, device);
  prompts_ = std::make_unique<PromptMels>(networks_.mel_stats, device);
  if (!networks_.windows.empty()) {
    windows_ = std::make_unique<ClipWindows>(networks_.windows, networks_.mel_stats,
                                             networks_.speaker_dim, device);
  }
  if (networks_.windows.stage == Stage::Decoder) {
    MYXTTS_CHECK(networks_.speaker_encoder != nullptr,
                 "the decoder's windows need a speaker encoder");
    voices_ = std::make_unique<ClipVoices>(*networks_.speaker_encoder, device);
  }
  const auto options = at::TensorOptions(device).dtype(at::kFloat);
  for (auto& side : sides_) {
    side = std::make_unique<Side>(Side{
        .block = at::empty({0}, options.dtype(at::kByte)),
        .prompt_mel = at::zeros({bounds_.clips, prompts_->bands(), prompts_->frames()}, options),
        .windows = windows_ ? windows_->empty_windows(device) : SoundWindows{},
        .made = data_.make_event(),
        .left = data_.make_event()});
  }
  for (const BatchTarget& target : targets) {
    ways_.push_back({target.model, std::make_unique<BatchTransfer>(data_, target.model, target.path,
                                                                   largest_batch())});
  }
}

std::size_t FeatureStage::largest_batch() const {
  const RowSizes& rows = bounds_.rows;
  return 64 * 24 + bytes_in(sides_.front()->windows) +
         static_cast<std::size_t>(
             8 * (2 * rows.tokens + 3 * (rows.text_targets + rows.audio_targets)) +
             4 * segment_ends_of(bounds_) + 8 +
             4 * bounds_.clips * prompts_->bands() * prompts_->frames());
}

FeatureStage::~FeatureStage() = default;

std::vector<DeviceBatch> FeatureStage::make_slots(std::size_t count, std::size_t trainer) const {
  RoleDevice& model = ways_.at(trainer).model;
  const auto scope = model.enter(model.stream());
  const auto device = torch_device(model);
  std::vector<DeviceBatch> slots(count);
  for (DeviceBatch& slot : slots) {
    slot.rows = largest_rows(bounds_, device);
    slot.prompt_mel = at::zeros({bounds_.clips, prompts_->bands(), prompts_->frames()},
                                at::TensorOptions(at::kFloat).device(device));
    if (windows_) slot.windows = windows_->empty_windows(device);
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
    complete_rows(host, encoded, side);
    add_noise(host, side);
    make_prompts(host, encoded, side);
    make_windows(host, sounds, encoded, side);
    make_voices(host, side);
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
    side.block.reset();  // before the larger one is taken
    side.block = at::empty({count + count / 4}, options);
  }
  data_.copy(data_.stream(), bytes_of(side.block), {.data = bytes.data()}, bytes.size());
  auto uploaded = std::make_shared<Event>(data_.make_event());
  uploaded->record(data_.stream());
  host.block->read_until([uploaded] { uploaded->wait(); });
}

// Of the clips whose codes are not known, in order.
std::vector<ClipSound> FeatureStage::unknown_sounds(const HostBatch& host, const Side& side) const {
  const auto samples = side.view(host, host.samples, at::kShort);
  std::vector<ClipSound> unknown;
  for (const HostClip& clip : host.clips) {
    if (clip.codes_known) continue;
    unknown.push_back({.samples = samples.narrow(0, clip.first_sample, clip.source_samples),
                       .rate = clip.source_rate});
  }
  return unknown;
}

std::vector<EncodedClip> FeatureStage::encode(std::span<const ClipSound> sounds) {
  if (probe_ != nullptr && !sounds.empty()) probe_->tell(Work::Features);
  return networks_.want_codes() ? features_->encode(sounds) : features_->load(sounds);
}

// See Note [Unknown codes].
void FeatureStage::complete_rows(const HostBatch& host, std::span<const EncodedClip> encoded,
                                 Side& side) {
  if (encoded.empty() || !networks_.want_codes()) return;
  std::vector<at::Tensor> codes;
  auto next = encoded.begin();
  for (const HostClip& clip : host.clips) {
    if (!clip.codes_known) codes.push_back((next++)->codes.narrow(0, 0, clip.codes));
  }
  const auto found = at::cat(codes);  // [U]
  side.ids(host, host.tokens)
      .index_copy_(0, side.ids(host, host.code_tokens), found + networks_.gpt.text_ids);
  side.ids(host, host.audio_targets)
      .index_copy_(0, side.ids(host, host.code_targets),
                   found.index_select(0, side.ids(host, host.code_target_codes)));
}

void FeatureStage::add_noise(const HostBatch& host, Side& side) {
  if (host.noise_tokens.empty()) return;
  side.ids(host, host.tokens)
      .index_copy_(0, side.ids(host, host.noise_tokens), side.ids(host, host.noise_ids));
}

void FeatureStage::make_prompts(const HostBatch& host, std::span<const EncodedClip> encoded,
                                Side& side) {
  const auto samples = side.view(host, host.samples, at::kShort);
  std::vector<at::Tensor> prompts;
  auto next = encoded.begin();
  for (const HostClip& clip : host.clips) {
    const auto length = clip.prompt.last - clip.prompt.first;
    prompts.push_back(clip.codes_known ? samples.narrow(0, clip.first_sample, length)
                                       : (next++)->samples.narrow(0, clip.prompt.first, length));
  }
  std::vector<at::Tensor> heard;
  for (const HostClip& clip : host.clips) heard.push_back(prompts[clip.hears]);
  prompts_->make(heard, side.prompt_mel, data_.stream());
}

void FeatureStage::make_windows(const HostBatch& host, std::span<const ClipSound> sounds,
                                std::span<const EncodedClip> encoded, Side& side) {
  if (!windows_) return;
  MYXTTS_CHECK(encoded.size() == host.clips.size(), "windows need the sound of every clip");
  windows_->make(sounds, encoded, host.window_starts, side.windows);
}

void FeatureStage::make_voices(const HostBatch& host, Side& side) {
  if (!voices_) return;
  const auto samples = side.view(host, host.samples, at::kShort);
  std::vector<HeardClip> clips;
  for (const HostClip& clip : host.clips) {
    clips.push_back({.number = clip.number,
                     .sound = {.samples = samples.narrow(0, clip.first_sample - clip.shift,
                                                         clip.source_samples),
                               .rate = clip.source_rate}});
  }
  voices_->make(clips, side.windows.voices);
}

// After the batch itself, which is waited for.
void FeatureStage::keep(const HostBatch& host, std::span<const EncodedClip> encoded) {
  std::vector<ComputedClip> clips;
  auto next = encoded.begin();
  for (const HostClip& clip : host.clips) {
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

void FeatureStage::send_windows(const HostBatch& host, const Side& side, DeviceBatch& slot,
                                std::vector<SlotArray>& arrays) const {
  if (!windows_) return;
  SoundWindows& to = slot.windows;
  const auto add = [&arrays](const at::Tensor& made, at::Tensor& place) {
    if (place.defined()) arrays.push_back({made, &place});
  };
  add(side.view(host, host.window_weights, at::kFloat), to.weights);
  add(side.ids(host, host.window_clips), to.clips);
  add(side.ids(host, host.window_starts), to.first_frames);
  add(side.ids(host, host.window_speakers), to.speakers);
  add(side.windows.mel, to.mel);
  add(side.windows.sound, to.sound);
  add(side.windows.voices, to.voices);
}

BatchTransfer::Times FeatureStage::send(const HostBatch& host, Side& side, DeviceBatch& slot) {
  GptBatch& rows = slot.rows;
  const auto counts = side.view(host, host.counts, at::kFloat);
  std::vector<SlotArray> arrays = {
      {side.view(host, host.segment_ends, at::kInt), &rows.segment_ends},
      {side.ids(host, host.tokens), &rows.tokens},
      {side.ids(host, host.positions), &rows.positions},
      {side.ids(host, host.target_rows), &rows.target_rows},
      {side.ids(host, host.text_targets), &rows.text_targets},
      {side.ids(host, host.text_clips), &rows.text_clips},
      {side.ids(host, host.audio_targets), &rows.audio_targets},
      {side.ids(host, host.audio_clips), &rows.audio_clips},
      {counts.narrow(0, 0, 1), &rows.text_count},
      {counts.narrow(0, 1, 1), &rows.audio_count},
      {side.prompt_mel, &slot.prompt_mel},
  };
  send_windows(host, side, slot, arrays);
  std::vector<TransferPiece> pieces;
  for (const SlotArray& array : arrays) {
    if (array.slot->dim() == 1) *array.slot = resized_view(*array.slot, array.made.size(0));
    MYXTTS_CHECK(array.slot->numel() == array.made.numel(), "a slot has another shape");
    pieces.push_back(
        {.to = bytes_of(*array.slot), .from = bytes_of(array.made), .bytes = array.made.nbytes()});
  }
  const Way& way = ways_.at(host.trainer);
  slot.filled = way.model.make_event();  // the trainer keeps the last one to measure with
  auto times = way.transfer->send(
      pieces,
      {.made = side.made, .free = slot.consumed, .left = side.left, .arrived = slot.filled});
  slot.number = host.number;
  slot.position = host.position;
  slot.ends_step = host.ends_step;
  slot.audio_seconds =
      static_cast<double>(host.sound_samples()) / static_cast<double>(ClipFeatures::kRate);
  slot.clips.clear();
  for (const HostClip& clip : host.clips) slot.clips.push_back(clip.number);
  rows.clips = static_cast<std::int64_t>(host.clips.size());
  rows.lengths = host.lengths;
  rows.longest = host.longest;
  return times;
}

void FeatureStage::set_probe(const StageProbe* probe) {
  probe_ = probe;
  for (const Way& way : ways_) way.transfer->set_probe(probe);
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
