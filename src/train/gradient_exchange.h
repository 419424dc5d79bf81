// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/parallel.h"
#include "parallel/rank_team.h"
#include "train/parameters.h"

namespace myxtts {

// Note [Gradients of several ranks]
// Each rank divides its losses by the targets of all ranks' batches, so the sum of gradients over
// the ranks is the gradient that one large batch would have. The flat array of gradients is cut
// into buckets. While the backward pass of a step's last batch runs, each gradient that it has
// found is counted, and a bucket whose gradients are all there goes on its way to the other ranks.
// Buckets go in one order on every rank: that in which they became complete in the first step on
// rank 0. What was told of the step is summed with them. Every rank then has the same sums, to the
// bit, and makes the same update.
//
// Where several batches are summed apart from their gradients, the sums go in one piece after the
// last pass.
//
// Parameters and team outlive it. The trainer's thread only.
class GradientExchange {
 public:
  GradientExchange(RankTeam& team, Parameters& parameters, Wire wire);
  ~GradientExchange();

  // Before the last backward pass of a step: from now on, gradients that are found go.
  void open();

  // After it. `apart` are the sums of several batches where these are kept apart, or undefined;
  // `losses` what was told of the step. Waits until all of it is the sum over the ranks.
  void finish(const at::Tensor& apart, const at::Tensor& losses);

  // The time that finish() waited for other ranks, since the last call.
  std::chrono::nanoseconds take_waited();

 private:
  struct Bucket {
    std::int64_t first = 0;
    std::int64_t count = 0;
    int places = 0;   // parameters in it
    int missing = 0;  // of which the gradient was not found yet
    std::int64_t completed = 0;
  };
  struct Sending {
    at::Tensor numbers;  // part of the gradients
    at::Tensor sent;     // the same, or what is on the wire
    RankTeam::Sum sum;
  };
  class Found;

  void cut(const ParameterLayout& layout);
  void found(std::size_t bucket);
  void send_complete();
  void send(const at::Tensor& numbers);
  void receive();
  void agree_on_order();

  RankTeam& team_;
  Parameters& parameters_;
  const Wire wire_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> order_;  // empty until the first step has shown it
  std::size_t next_ = 0;            // of order_
  bool open_ = false;
  std::int64_t found_ = 0;  // gradients of this step
  std::vector<Sending> under_way_;
  std::chrono::nanoseconds waited_{0};
};

}  // namespace myxtts
