// SPDX-License-Identifier: Apache-2.0
#include "session/feed/resident_batches.h"

#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts {

void ResidentBatches::keep(const DeviceBatch& batch) {
  const auto scope = device_.enter(device_.stream());
  DeviceBatch copy;
  static_cast<Batch<TensorOf>&>(copy) = batch;
  copy.windows = {};  // a trial is of the GPT alone
  const auto clone = [](at::Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.clone();
  };
  for_each_slot_array(clone, copy);
  copy.filled = device_.make_event();
  copy.consumed = device_.make_event();
  copy.filled.record(device_.stream());
  batches_.push_back(std::move(copy));
}

DeviceBatch& ResidentBatches::next() {
  MYXTTS_CHECK(!batches_.empty(), "no batch was kept");
  DeviceBatch& batch = batches_[taken_ % batches_.size()];
  ++taken_;
  batch.ends_step = static_cast<std::int64_t>(taken_) % batches_a_step_ == 0;
  return batch;
}

BatchTokens tokens_of(const DeviceBatch& batch) {
  BatchTokens tokens;
  const GptBatch& rows = batch.rows;
  for (std::size_t segment = 0; segment < rows.lengths.size(); ++segment) {
    tokens.all += rows.lengths[segment];
    if (static_cast<std::int64_t>(segment) < rows.clips) tokens.useful += rows.lengths[segment];
  }
  return tokens;
}

}  // namespace myxtts
