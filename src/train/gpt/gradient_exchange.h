// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/run_config.h"
#include "parallel/rank_tensors.h"
#include "train/step/parameters.h"

namespace torch::autograd {
struct Node;
}

namespace myxtts {

// Note [Gradients of several ranks]
// Each rank divides its losses by the targets of all ranks' batches, so the sum of gradients over
// the ranks is the gradient that one large batch would have. The flat array of gradients is cut
// into buckets. While the backward pass of a step's last batch runs, each gradient that it has
// found is counted, and the all-reduce of a bucket begins once its gradients are complete. Buckets
// go in one order on every rank and in every graph: that in which they became complete in the first
// pass on rank 0. The losses of the step are summed with them. Every rank then has the same sums,
// to the bit, and makes the same update.
//
// Where several batches are summed apart from their gradients, the sums go in one piece after the
// last pass.
//
// Note [When a gradient is there]
// Autograd visits the end of a parameter's path once for each backward pass that leads there, also
// where an operation of ours has written the gradient to its place itself and hands nothing on:
// only then has everything been added. Layers that are recomputed run passes of their own inside
// the large one, so a parameter may be visited more than once. The first pass shows how often; in
// it, and for a parameter that had no part in it, nothing is sent before the pass ends.

// Few enough buckets to pay the latency, many to overlap.
inline constexpr std::int64_t kUsualBucketBytes = std::int64_t{8} << 20;

// Parameters, team and tensors outlive it. The trainer's thread only; autograd's own count.
class GradientExchange {
 public:
  GradientExchange(RankTeam& team, RankTensors& tensors, Parameters& parameters,
                   Wire wire = Wire::Fp32, std::int64_t bucket_bytes = kUsualBucketBytes);
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;
  ~GradientExchange();

  // Before the last backward pass of a step: from now on, gradients that are found go. Not where
  // sums are kept apart.
  void open();

  // After it. `apart` are the sums of several batches where these are kept apart, or undefined;
  // `losses` those of the step. What the role computes from now on sees sums over all
  // ranks. May stand in a graph, together with open(), once a pass was made without one.
  void finish(const at::Tensor& apart, const at::Tensor& losses);

  // The time that finish() waited for other ranks, since the last call.
  std::chrono::nanoseconds take_waited();

 private:
  struct Gradient {
    std::size_t bucket = 0;
    int visits = 1;                                   // of autograd in each pass
    int seen = 0;                                     // of these, in this pass
    std::shared_ptr<torch::autograd::Node> end = {};  // of the parameter's path
    std::uintptr_t hook = 0;
  };
  struct Bucket {
    std::int64_t first = 0;
    std::int64_t count = 0;
    int gradients = 0;
    int missing = 0;             // gradients that were not found yet
    std::int64_t completed = 0;  // after so many gradients of the pass
  };
  class Visit;

  void cut(const ParameterLayout& layout);
  void watch(const at::Tensor& parameter, Gradient& gradient, std::size_t place);
  void visited(std::size_t place);
  void send_complete();
  void send(const at::Tensor& numbers, std::int64_t first);
  void receive();
  void learn_visits();
  void agree_on_order();

  RankTeam& team_;
  RankTensors& tensors_;
  Parameters& parameters_;
  const Wire wire_;
  const std::int64_t bucket_bytes_;
  at::Tensor on_wire_;  // bf16 [trained], where others are sent as it; or undefined
  std::vector<Gradient> gradients_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> order_;  // empty until the first pass has shown it
  std::size_t next_ = 0;            // of order_
  bool knows_visits_ = false;
  bool open_ = false;
  std::int64_t visits_ = 0;  // of this pass
  std::chrono::nanoseconds waited_{0};
};

}  // namespace myxtts
