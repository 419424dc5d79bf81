// SPDX-License-Identifier: Apache-2.0
#include "train/gradient_exchange.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/trace.h"

namespace myxtts {
namespace {

constexpr std::int64_t kBucketBytes = 8 << 20;  // few enough to pay the latency, many to overlap

}  // namespace

class GradientExchange::Found final : public torch::autograd::PostAccumulateGradHook {
 public:
  Found(GradientExchange& exchange, std::size_t bucket) : exchange_(exchange), bucket_(bucket) {}

  void operator()(const at::Tensor&) override { exchange_.found(bucket_); }

 private:
  GradientExchange& exchange_;
  const std::size_t bucket_;
};

GradientExchange::GradientExchange(RankTeam& team, Parameters& parameters, Wire wire)
    : team_(team), parameters_(parameters), wire_(wire) {
  cut(parameters.layout());
}

GradientExchange::~GradientExchange() {
  for (const auto& [name, tensor] : parameters_.tensors()) {
    if (tensor.requires_grad()) torch::autograd::impl::set_post_acc_grad_hooks(tensor, nullptr);
  }
}

// Parameters stay whole, so that a bucket is complete with its last one.
void GradientExchange::cut(const ParameterLayout& layout) {
  const auto size = static_cast<std::int64_t>(parameters_.gradients().element_size());
  for (const auto& place : layout.places) {
    if (!place.trained) continue;
    if (buckets_.empty() || buckets_.back().count * size >= kBucketBytes) {
      buckets_.push_back({.first = place.first});
    }
    Bucket& bucket = buckets_.back();
    bucket.count = place.first + place.count - bucket.first;
    ++bucket.places;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters_.tensors().find(place.name)->second,
        std::make_unique<Found>(*this, buckets_.size() - 1));
  }
}

void GradientExchange::open() {
  open_ = true;
  found_ = 0;
  next_ = 0;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.places;
}

void GradientExchange::found(std::size_t number) {
  if (!open_) return;
  Bucket& bucket = buckets_[number];
  bucket.completed = ++found_;
  if (--bucket.missing == 0) send_complete();
}

void GradientExchange::send_complete() {
  for (; next_ < order_.size(); ++next_) {
    const Bucket& bucket = buckets_[order_[next_]];
    if (bucket.missing > 0) return;
    send(parameters_.gradients().narrow(0, bucket.first, bucket.count));
  }
}

void GradientExchange::send(const at::Tensor& numbers) {
  const TraceScope trace("send gradients");
  at::Tensor sent = numbers;
  if (wire_ == Wire::Bf16 && numbers.scalar_type() != at::kBFloat16) {
    sent = numbers.to(at::kBFloat16);
  }
  under_way_.push_back({.numbers = numbers, .sent = sent, .sum = team_.begin_sum(sent)});
}

void GradientExchange::finish(const at::Tensor& apart, const at::Tensor& losses) {
  const at::NoGradGuard no_grad;
  if (order_.empty()) agree_on_order();
  if (apart.defined()) {
    send(apart);
  } else {
    // A parameter that had no part in this batch has a gradient of zero, which was not found.
    for (Bucket& bucket : buckets_) bucket.missing = 0;
    send_complete();
  }
  open_ = false;
  under_way_.push_back({.numbers = losses, .sent = losses, .sum = team_.begin_sum(losses)});
  receive();
}

void GradientExchange::receive() {
  const TraceScope trace("wait for ranks");
  const auto began = std::chrono::steady_clock::now();
  for (Sending& sending : under_way_) {
    sending.sum.wait();
    if (!sending.sent.is_same(sending.numbers)) sending.numbers.copy_(sending.sent);
  }
  under_way_.clear();
  waited_ += std::chrono::steady_clock::now() - began;
}

// Rank 0's, as ranks with other batches may find gradients in another order.
void GradientExchange::agree_on_order() {
  std::vector<std::int64_t> order(buckets_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](std::int64_t bucket) {
    return buckets_[static_cast<std::size_t>(bucket)].completed;
  });
  team_.broadcast(at::from_blob(order.data(), {std::ssize(order)}, at::kLong));
  order_.assign(order.begin(), order.end());
}

std::chrono::nanoseconds GradientExchange::take_waited() {
  return std::exchange(waited_, std::chrono::nanoseconds(0));
}

}  // namespace myxtts
