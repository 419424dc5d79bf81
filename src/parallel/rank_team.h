// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "parallel/world.h"

namespace myxtts {

// Another rank is gone, or gave up: this one cannot continue alone.
struct LostRank : DeviceError {
  using DeviceError::DeviceError;
};

// The ranks of a run, joined: what they compute together.
//
// Every rank calls the same methods with the same shapes in the same order, from one thread. What
// comes out has the same bits on every rank. Where a rank is lost, or none answers within the
// timeout, the others throw LostRank, which names the rank and, where it is known, the cause.
//
// A rank that nobody joins is a team of one: what it sums is its own, and it waits for nobody.
class RankTeam {
 public:
  RankTeam();  // of one
  // Waits for the others, and logs for whom. Throws DeviceError that names those who did not come.
  explicit RankTeam(const World& world,
                    std::chrono::milliseconds timeout = std::chrono::minutes(10));
  ~RankTeam();

  // The team of a run that has one rank and no launcher. Any thread's.
  static RankTeam& alone();
  bool is_alone() const;  // made without a launcher; one that a launcher started is not

  const World& world() const;
  std::chrono::milliseconds timeout() const;  // how long ranks wait for one another

  // Begins a sum over all ranks, in place, in the tensor's own arithmetic, and returns at once. The
  // tensor is not to be touched before what comes back was called, which waits for the sum.
  std::function<void()> begin_all_reduce(const at::Tensor& tensor);
  void all_reduce(const at::Tensor& tensor) { begin_all_reduce(tensor)(); }

  // Rank 0's numbers, or words, for all.
  void broadcast(const at::Tensor& tensor);
  std::string broadcast(const std::string& text);
  // The numbers that rank `from` has, for all.
  void broadcast(const at::Tensor& tensor, int from);

  // The same few numbers of every rank, rank after rank.
  std::vector<double> all_gather(std::span<const double> own);

  // Returns when all ranks are there.
  void barrier();

  // Why this rank fails; the others will report it. Never throws.
  void announce_failure(const std::string& cause) noexcept;

  // Whether a rank has announced that it fails. May be called by any thread.
  bool has_lost_rank() const;

  // Throws LostRank as if a rank had not answered: for what ranks compute together elsewhere.
  [[noreturn]] void give_up(const std::string& reason);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
