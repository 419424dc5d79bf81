// SPDX-License-Identifier: Apache-2.0
#include "pipeline/reader.h"

#include <tuple>

#include "base/error.h"
#include "base/trace.h"

namespace myxtts {
namespace {

// What the batch takes up once it is decoded.
std::size_t decoded_bytes(const BatchSource& source, const PlannedBatch& planned) {
  std::size_t bytes = 0;
  for (const ClipNumber number : planned.clips) {
    bytes += sizeof(std::int16_t) * static_cast<std::size_t>(source.clip(number).source_frames);
  }
  return bytes;
}

// A run that is resumed with fewer epochs may begin behind its end.
bool is_before(const DataPosition& position, const std::optional<DataPosition>& end) {
  return !end || std::tie(position.epoch, position.step) < std::tie(end->epoch, end->step);
}

}  // namespace

Reader::Reader(const BatchSource& source, BatchWindow& window, BoundedQueue<LoadJob>& jobs,
               std::int64_t trainers)
    : source_(source), window_(window), jobs_(jobs), trainers_(trainers) {
  MYXTTS_CHECK(trainers == 1 || trainers == source.ranks(), "{} trainers for {} ranks", trainers,
               source.ranks());
}

void Reader::run(DataPosition position, std::optional<DataPosition> end) {
  try {
    read(position, end);
    window_.finish();
    jobs_.finish();
  } catch (...) {
    window_.fail(std::current_exception());
    jobs_.stop();
  }
}

void Reader::read(DataPosition position, std::optional<DataPosition> end) {
  const auto busy = meter_.busy();
  for (std::int64_t number = 0; is_before(position, end); position = source_.next(position)) {
    if (number == 0 || position.step == 0) source_.begin_epoch(position.epoch);
    for (const PlannedBatch& planned : batches_at(position)) {
      if (!make_place(number, planned) || !hand_out(number, planned)) return;
      ++number;
    }
  }
}

std::vector<PlannedBatch> Reader::batches_at(DataPosition position) const {
  if (trainers_ > 1) return source_.batches_of_ranks(position);
  return {source_.batch(position)};
}

bool Reader::make_place(std::int64_t number, const PlannedBatch& planned) {
  const std::size_t bytes = decoded_bytes(source_, planned);
  const auto waiting = meter_.waiting_for_output();
  return window_.reserve(number, planned, bytes);
}

bool Reader::hand_out(std::int64_t number, const PlannedBatch& planned) {
  const TraceScope trace("read", number);
  for (std::size_t index = 0; index < planned.clips.size(); ++index) {
    const ClipNumber clip = planned.clips[index];
    source_.read_ahead(source_.clip(clip));
    const auto waiting = meter_.waiting_for_output();
    if (!jobs_.push({.batch = number, .index = index, .clip = clip})) return false;
    ++clips_;
  }
  return true;
}

}  // namespace myxtts
