// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_transfer.h"

#include <algorithm>

#include "base/error.h"
#include "pipeline/staging_pool.h"

namespace myxtts {
namespace {

using Copy = BatchTransfer::Times::Copy;

// What is queued on `stream` until end() belongs to the copy.
Copy begin(const RoleDevice& device, const Stream& stream) {
  Copy copy{.began = device.make_event(), .ended = device.make_event()};
  copy.began.record(stream);
  return copy;
}

}  // namespace

BatchTransfer::BatchTransfer(RoleDevice& data, RoleDevice& model, BatchPath path,
                             std::size_t largest)
    : data_(data),
      model_(model),
      path_(path),
      largest_(largest),
      leaving_(data.make_stream()),
      arriving_(model.make_stream()) {
  if (path_ != BatchPath::PinnedHost) return;
  for (int buffer = 0; buffer < 2; ++buffer) {
    buffers_.push_back({data_.host_memory(largest), data_.make_event(), model_.make_event()});
  }
}

bool BatchTransfer::Times::completed() const {
  return std::ranges::all_of(copies, &Copy::completed);
}

double BatchTransfer::Times::seconds() const {
  double longest = 0;
  for (const Copy& copy : copies) longest = std::max(longest, copy.seconds());
  return longest;
}

BatchTransfer::Times BatchTransfer::send(std::span<const TransferPiece> pieces,
                                         const Marks& marks) {
  Times times = path_ == BatchPath::PinnedHost ? send_through_host(pieces, marks)
                                               : send_directly(pieces, marks);
  for (const auto& piece : pieces) times.bytes += static_cast<std::int64_t>(piece.bytes);
  return times;
}

BatchTransfer::Times BatchTransfer::send_directly(std::span<const TransferPiece> pieces,
                                                  const Marks& marks) {
  marks.made.hold_up(arriving_);
  marks.free.hold_up(arriving_);
  Times times;
  Copy& copy = times.copies.emplace_back(begin(model_, arriving_));
  if (probe_ != nullptr) probe_->report(Work::Transfer);
  for (const auto& piece : pieces) model_.copy(arriving_, piece.to, piece.from, piece.bytes);
  copy.ended.record(arriving_);
  marks.left.record(arriving_);
  marks.arrived.record(arriving_);
  return times;
}

BatchTransfer::Times BatchTransfer::send_through_host(std::span<const TransferPiece> pieces,
                                                      const Marks& marks) {
  HostBuffer& buffer = buffers_[next_buffer_];
  next_buffer_ = (next_buffer_ + 1) % buffers_.size();
  marks.made.hold_up(leaving_);
  buffer.read.hold_up(leaving_);  // what it held before has left
  Times times;
  times.copies.push_back(begin(data_, leaving_));
  if (probe_ != nullptr) probe_->report(Work::Transfer);
  std::vector<TransferPiece> second_half;
  std::size_t offset = 0;
  for (const auto& piece : pieces) {
    MYXTTS_CHECK(offset + piece.bytes <= largest_, "a batch does not fit into {} bytes", largest_);
    const DeviceBytes here = {buffer.memory.get() + offset};
    data_.copy(leaving_, here, piece.from, piece.bytes);
    second_half.push_back({.to = piece.to, .from = here, .bytes = piece.bytes});
    offset += aligned(piece.bytes);
  }
  times.copies.back().ended.record(leaving_);
  buffer.written.record(leaving_);
  marks.left.record(leaving_);

  buffer.written.hold_up(arriving_);
  marks.free.hold_up(arriving_);
  times.copies.push_back(begin(model_, arriving_));
  for (const auto& piece : second_half) model_.copy(arriving_, piece.to, piece.from, piece.bytes);
  times.copies.back().ended.record(arriving_);
  buffer.read.record(arriving_);
  marks.arrived.record(arriving_);
  return times;
}

}  // namespace myxtts
