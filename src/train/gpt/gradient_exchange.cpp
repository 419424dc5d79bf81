// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/gradient_exchange.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/error.h"
#include "base/trace.h"
#include "kernels/adamw/adamw.h"

namespace myxtts {

class GradientExchange::Visit final : public torch::autograd::FunctionPostHook {
 public:
  Visit(GradientExchange& exchange, std::size_t place) : exchange_(exchange), place_(place) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    exchange_.visited(place_);
    return outputs;
  }

 private:
  GradientExchange& exchange_;
  const std::size_t place_;
};

GradientExchange::GradientExchange(RankTeam& team, RankTensors& tensors, Parameters& parameters,
                                   Wire wire, std::int64_t bucket_bytes)
    : team_(team),
      tensors_(tensors),
      parameters_(parameters),
      wire_(wire),
      bucket_bytes_(bucket_bytes) {
  cut(parameters.layout());
}

GradientExchange::~GradientExchange() {
  for (const Gradient& gradient : gradients_) gradient.end->del_post_hook(gradient.hook);
}

// Parameters stay whole, so that a bucket is complete with its last one.
void GradientExchange::cut(const ParameterLayout& layout) {
  const auto size = static_cast<std::int64_t>(parameters_.gradients().element_size());
  for (const auto& place : layout.places) {
    if (!place.trained) continue;
    if (buckets_.empty() || buckets_.back().count * size >= bucket_bytes_) {
      buckets_.push_back({.first = place.first});
    }
    Bucket& bucket = buckets_.back();
    bucket.count = place.first + place.count - bucket.first;
    ++bucket.gradients;
    gradients_.push_back({.bucket = buckets_.size() - 1});
    watch(parameters_.tensors().find(place.name)->second, gradients_.back(), gradients_.size() - 1);
  }
}

// A parameter only knows the end of its path while somebody holds it.
void GradientExchange::watch(const at::Tensor& parameter, Gradient& gradient, std::size_t place) {
  gradient.end = torch::autograd::impl::grad_accumulator(parameter);
  gradient.hook = gradient.end->add_post_hook(std::make_unique<Visit>(*this, place));
}

void GradientExchange::open() {
  open_ = true;
  visits_ = 0;
  next_ = 0;
  for (Gradient& gradient : gradients_) gradient.seen = 0;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.gradients;
}

void GradientExchange::visited(std::size_t place) {
  if (!open_) return;
  Gradient& gradient = gradients_[place];
  Bucket& bucket = buckets_[gradient.bucket];
  bucket.completed = ++visits_;
  ++gradient.seen;
  if (!knows_visits_) return;
  MYXTTS_CHECK(gradient.seen <= gradient.visits, "a gradient grew after it was counted");
  if (gradient.seen == gradient.visits && --bucket.missing == 0) send_complete();
}

void GradientExchange::send_complete() {
  for (; next_ < order_.size(); ++next_) {
    const Bucket& bucket = buckets_[order_[next_]];
    if (bucket.missing > 0) return;
    send(parameters_.gradients().narrow(0, bucket.first, bucket.count), bucket.first);
  }
}

void GradientExchange::send(const at::Tensor& numbers, std::int64_t first) {
  const TraceScope trace("send gradients");
  if (wire_ == Wire::Fp32 || numbers.scalar_type() == at::kBFloat16) {
    return tensors_.begin_all_reduce(numbers, numbers);
  }
  if (!on_wire_.defined()) {
    on_wire_ = at::empty({parameters_.layout().trained}, numbers.options().dtype(at::kBFloat16));
  }
  tensors_.begin_all_reduce(numbers, on_wire_.narrow(0, first, numbers.numel()));
}

void GradientExchange::finish(const at::Tensor& apart, const at::Tensor& losses) {
  const at::NoGradGuard no_grad;
  if (apart.defined()) {
    send(apart, 0);
  } else {
    learn_visits();
    if (order_.empty()) agree_on_order();
    // A parameter that had no part in this batch has a gradient of zero, which was not found.
    for (Bucket& bucket : buckets_) bucket.missing = 0;
    send_complete();
  }
  open_ = false;
  tensors_.begin_all_reduce(losses, losses);
  receive();
}

void GradientExchange::receive() {
  const TraceScope trace("wait for ranks");
  const auto began = std::chrono::steady_clock::now();
  tensors_.finish_all_reduces();
  waited_ += std::chrono::steady_clock::now() - began;
}

// A rank may have had no clip in its first pass.
void GradientExchange::learn_visits() {
  if (knows_visits_ || visits_ == 0) return;
  for (Gradient& gradient : gradients_) gradient.visits = std::max(1, gradient.seen);
  knows_visits_ = true;
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
