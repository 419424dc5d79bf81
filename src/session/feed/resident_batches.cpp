// SPDX-License-Identifier: Apache-2.0
#include "session/feed/resident_batches.h"

#include <algorithm>
#include <numeric>
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

std::int64_t all_tokens(const DeviceBatch& batch) {
  const auto& lengths = batch.rows.lengths;
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::int64_t useful_tokens(const DeviceBatch& batch) {
  const auto& lengths = batch.rows.lengths;
  const auto clips = std::min(batch.rows.clips, static_cast<std::int64_t>(lengths.size()));
  return std::accumulate(lengths.begin(), lengths.begin() + clips, std::int64_t{0});
}

}  // namespace myxtts
