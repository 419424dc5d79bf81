// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "device/role_device.h"
#include "parallel/rank_team.h"

namespace myxtts {

// A name for the device of a rank that no other card of any host has; empty for the CPU.
std::string card_of(const RoleDevice& device);

// Every rank calls it with its own card. Throws DeviceError, the same on all of them, where two
// have one card, or some have one and others the CPU.
void require_own_cards(RankTeam& team, const std::string& card);

// What ranks do together with tensors on their model devices: over Gloo on the CPU, over NCCL on
// GPUs, where everything is queued and the host does not wait.
//
// Every rank calls the same methods with tensors of the same shapes in the same order. What comes
// out has the same bits on every rank. Throws LostRank as RankTeam does. Work that uses the results
// stands on the role's stream. One thread at a time.
class RankTensors {
 public:
  virtual ~RankTensors() = default;

  // Begins the sum of `numbers` over all ranks, in place; they are not to be touched before
  // finish_all_reduces(). They are sent as `on_wire`, which has as many numbers of another type, or
  // is the same tensor. May stand in a graph, together with its finish_all_reduces().
  virtual void begin_all_reduce(const at::Tensor& numbers, const at::Tensor& on_wire) = 0;
  virtual void finish_all_reduces() = 0;

  // `parts[i]` of rank i for all ranks; further ranks have nothing to give.
  virtual void all_gather(const std::vector<at::Tensor>& parts) = 0;

  // After each step was queued.
  virtual void step_queued() {}

  // Throws LostRank where what was queued so far could not be computed together to its end.
  virtual void require_whole() {}

  // Where another rank is lost: whether what was queued came to its end all the same. Waits a few
  // seconds for that; otherwise the device is made to end it, and its numbers are of no use.
  virtual bool wait_for_queued() { return true; }
};

// Of the ranks on these devices. Every rank calls it; waits for the others. Throws DeviceError
// where some are on the CPU and some on GPUs, or two on one GPU. Both outlive it, and graphs that
// hold its work must be gone before it is.
std::unique_ptr<RankTensors> make_rank_tensors(RankTeam& team, RoleDevice& device);

}  // namespace myxtts
