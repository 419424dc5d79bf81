// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "parallel/world.h"

namespace myxtts {

// Another rank is gone, or gave up: this one cannot go on alone.
struct LostRank : DeviceError {
  using DeviceError::DeviceError;
};

struct RankTeamSettings {
  std::chrono::milliseconds timeout{600'000};  // how long ranks wait for one another
};

// The ranks of a run, joined: what they compute together.
//
// Every rank calls the same methods with the same shapes in the same order, from one thread. What
// comes out has the same bits on every rank. Where a rank is lost, or none answers within the
// timeout, the others throw LostRank, which names the rank and says why it ended where it could
// tell.
//
// A rank that nobody joins is a team of one: what it sums is its own, and it waits for nobody.
class RankTeam {
 public:
  RankTeam();  // of one
  // Waits for the others, and says for whom. Throws DeviceError that names those who did not come.
  RankTeam(const World& world, const RankTeamSettings& settings);
  ~RankTeam();

  // The team of a run that has one rank and no launcher. Any thread's.
  static RankTeam& alone();
  bool is_alone() const;  // made without a launcher; one that a launcher started is not

  const World& world() const;
  const RankTeamSettings& settings() const;

  // A sum over all ranks that is under way; its tensor is not to be touched before wait().
  class Sum {
   public:
    Sum(Sum&&) noexcept;
    Sum& operator=(Sum&&) noexcept;
    ~Sum();
    void wait();

   private:
    friend class RankTeam;
    struct State;
    explicit Sum(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };

  // In place, in the tensor's own arithmetic. Returns at once.
  Sum begin_sum(const at::Tensor& tensor);
  void sum(const at::Tensor& tensor) { begin_sum(tensor).wait(); }

  // Rank 0's numbers, or words, for all.
  void broadcast(const at::Tensor& tensor);
  std::string broadcast(const std::string& text);
  // The numbers that rank `from` has, for all.
  void broadcast(const at::Tensor& tensor, int from);

  // The same few numbers of every rank, rank after rank.
  std::vector<double> gather(std::span<const double> own);

  // Returns when all ranks are there.
  void meet();

  // Why this rank ends before its time; the others will tell it. Never throws.
  void say_why(const std::string& cause) noexcept;

  // Whether a rank has told why it ends before its time. Any thread's.
  bool has_lost_one() const;

  // Throws LostRank as if a rank had not answered: for what ranks compute together elsewhere.
  [[noreturn]] void give_up(const std::string& reason);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
