// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_team.h"

#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

// LibTorch's library has Gloo in it; its header asks whether it may say so.
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "parallel/rank_board.h"
#include "parallel/world.h"

namespace myxtts {
namespace {

using namespace std::chrono_literals;
using Gloo = c10d::ProcessGroupGloo;

constexpr auto kTimeToRead = 1500ms;  // what rank 0 leaves on its board before it ends
constexpr auto kBetweenLooks = 1000ms;
constexpr auto kPatience = 2s;  // before it is logged who is waited for

std::string listed(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

std::int64_t seconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

// The others must have opened their boards before a mesh of connections is tried.
void wait_for_all(RankBoard& board, const World& world, std::chrono::milliseconds timeout) {
  const auto key = [](int rank) { return fmt::format("here/{}", rank); };
  board.write(key(world.rank), "yes");
  const auto began = std::chrono::steady_clock::now();
  for (bool logged = false;; std::this_thread::sleep_for(20ms)) {
    std::vector<int> missing;
    for (int rank = 0; rank < world.size; ++rank) {
      if (!board.read(key(rank))) missing.push_back(rank);
    }
    if (missing.empty()) return;
    const auto waited = std::chrono::steady_clock::now() - began;
    if (waited >= timeout) {
      throw DeviceError(
          fmt::format("Of {} ranks {} did not come within {} s. Start as many as WORLD_SIZE says; "
                      "--rank-timeout says how long to wait.",
                      world.size, listed(missing), seconds(timeout)));
    }
    if (waited < kPatience || std::exchange(logged, true) || !world.leads()) continue;
    log_info("ranks", "waiting for {} of {}", listed(missing), world.size);
  }
}

c10::intrusive_ptr<Gloo> join(RankBoard& board, const World& world,
                              std::chrono::milliseconds timeout) {
  wait_for_all(board, world, timeout);
  const auto options = Gloo::Options::create(timeout);
  options->devices.push_back(
      Gloo::createDeviceForHostname(local_address_towards(world.address, world.port)));
  options->threads = 2;
  try {
    return c10::make_intrusive<Gloo>(board.store(), world.rank, world.size, options);
  } catch (const std::exception& error) {
    throw DeviceError(fmt::format(
        "The {} ranks found one another but could not connect: {}. See whether the hosts may "
        "connect to each other on any port.",
        world.size, error.what()));
  }
}

// LibTorch records the last collectives of a process for debugging stalls. It does so without a
// lock, and ranks that are threads of one process crash in it. Before any thread runs: the
// environment has no lock either.
[[maybe_unused]] const int kNoFlightRecorder = ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*replace=*/0);

// When a sum was under way, on a lane of its own: what of it lay behind other work can be seen.
void show(c10d::Work& work) {
  work.getFuture()->addCallback([from = system_clock().now()](c10::ivalue::Future&) {
    trace_lane("sums over ranks").add("sum", from, system_clock().now(), -1);
  });
}

}  // namespace

struct RankTeam::State {
  State() = default;
  State(const World& where, std::chrono::milliseconds longest)
      : world(where),
        timeout(longest),
        board(std::in_place, where, longest),
        group(join(*board, where, longest)) {}

  ~State() {
    // Where a rank is lost, what is under way may never end, and Gloo would wait for it.
    if (lost) static_cast<void>(group.release());
  }

  // Says who is gone, and why where that is known: all ranks say the same, as far as they can.
  [[noreturn]] void fail(const std::string& reason) {
    lost = true;
    log_debug("ranks", "{}", reason);
    MYXTTS_CHECK(board.has_value(), "a rank alone has lost another one: {}", reason);
    const std::vector<int> gone = board->ranks_without_pulse();
    auto cause = board->cause();
    if (!cause) {
      cause = fmt::format("{} of {} {} not answer any more (--rank-timeout {}).",
                          gone.empty() ? "a rank" : listed(gone), world.size,
                          gone.size() > 1 ? "do" : "does", seconds(timeout));
      if (world.leads()) board->write_cause(*cause);
    }
    if (world.leads()) std::this_thread::sleep_for(kTimeToRead);  // its board ends with it
    throw LostRank(fmt::format(
        "The run ends, as {} See what became of it; then continue with --resume.", *cause));
  }

  template <typename Begin>
  c10::intrusive_ptr<c10d::Work> begin(const Begin& work) {
    try {
      return work();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  // A rank that ended may be another one than those that this one hears from, and where ranks are
  // threads of one process, their connections do not end with them. So it looks at the board too.
  void finish(const c10::intrusive_ptr<c10d::Work>& work) {
    const auto began = std::chrono::steady_clock::now();
    while (true) {
      try {
        work->wait(std::min<std::chrono::milliseconds>(kBetweenLooks, timeout));
        return;
      } catch (const std::exception& error) {
        const bool completed = work->isCompleted();
        if (completed && work->isSuccess()) continue;  // just behind the time that it was given
        const bool late = std::chrono::steady_clock::now() - began >= timeout;
        if (completed || late || board->cause()) fail(error.what());
      }
    }
  }

  template <typename Begin>
  void run(const Begin& work) {
    if (group) finish(begin(work));
  }

  const World world = {};
  const std::chrono::milliseconds timeout{};
  std::optional<RankBoard> board;  // nothing: of one
  c10::intrusive_ptr<Gloo> group;  // likewise null
  bool lost = false;
};

RankTeam::RankTeam() : state_(std::make_unique<State>()) {}

RankTeam& RankTeam::alone() {
  static RankTeam team;
  return team;
}

bool RankTeam::is_alone() const {
  return !state_->group;
}

RankTeam::RankTeam(const World& world, std::chrono::milliseconds timeout)
    : state_(std::make_unique<State>(world, timeout)) {}

RankTeam::~RankTeam() = default;

const World& RankTeam::world() const {
  return state_->world;
}

std::chrono::milliseconds RankTeam::timeout() const {
  return state_->timeout;
}

std::function<void()> RankTeam::begin_all_reduce(const at::Tensor& tensor) {
  MYXTTS_CHECK(tensor.is_contiguous() && tensor.device().is_cpu(), "ranks sum flat CPU tensors");
  if (is_alone()) return [] {};
  std::vector<at::Tensor> tensors{tensor};
  auto work = state_->begin([&] { return state_->group->allreduce(tensors); });
  if (tracing()) show(*work);
  return [this, tensors, work] { state_->finish(work); };
}

void RankTeam::broadcast(const at::Tensor& tensor) {
  broadcast(tensor, 0);
}

void RankTeam::broadcast(const at::Tensor& tensor, int from) {
  std::vector<at::Tensor> tensors{tensor};
  c10d::BroadcastOptions options;
  options.rootRank = from;
  state_->run([&] { return state_->group->broadcast(tensors, options); });
}

std::string RankTeam::broadcast(const std::string& text) {
  auto length = at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong);
  broadcast(length);
  std::string received = text;
  received.resize(static_cast<std::size_t>(length.item<std::int64_t>()));
  if (!received.empty()) {
    broadcast(
        at::from_blob(received.data(), {static_cast<std::int64_t>(received.size())}, at::kByte));
  }
  return received;
}

std::vector<double> RankTeam::all_gather(std::span<const double> own) {
  if (is_alone()) return {own.begin(), own.end()};
  const auto count = std::ssize(own);
  auto all = at::zeros({state_->world.size, count}, at::kDouble);
  double* const row = all.mutable_data_ptr<double>() + state_->world.rank * count;
  std::copy(own.begin(), own.end(), row);
  all_reduce(all);  // every place has one rank's number and zeros
  const double* const numbers = all.const_data_ptr<double>();
  return {numbers, numbers + all.numel()};
}

void RankTeam::barrier() {
  state_->run([&] { return state_->group->barrier(); });
}

void RankTeam::announce_failure(const std::string& cause) noexcept {
  if (state_->lost || is_alone()) return;  // the others know
  state_->board->write_cause(
      fmt::format("rank {} of {} ended: {}", state_->world.rank, state_->world.size, cause));
  state_->lost = true;  // the others go, and what is under way with them may never end
  if (state_->world.leads()) std::this_thread::sleep_for(kTimeToRead);
}

bool RankTeam::has_lost_rank() const {
  return state_->board && state_->board->cause();
}

void RankTeam::give_up(const std::string& reason) {
  state_->fail(reason);
}

}  // namespace myxtts
