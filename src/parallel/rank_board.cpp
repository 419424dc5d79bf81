// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_board.h"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/error.h"

namespace myxtts {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCause = "cause";
constexpr auto kBeat = 300ms;
constexpr auto kStill = 1200ms;   // a heartbeat that is silent for so long has stopped
constexpr auto kAnswer = 2500ms;  // of a board that may be gone

std::string pulse_key(int rank) {
  return fmt::format("pulse/{}", rank);
}

c10::intrusive_ptr<c10d::TCPStore> connect(const World& world, std::chrono::milliseconds timeout,
                                           bool serves) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(world.port);
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(world.address, options);
  } catch (const std::exception&) {
    if (serves) {
      throw DeviceError(fmt::format(
          "Rank 0 cannot listen on port {}: another program may have it. Give the launcher another "
          "one (MASTER_PORT, or --port of myxtts launch).",
          world.port));
    }
    throw DeviceError(fmt::format(
        "Rank {} of {} did not find rank 0 at {}:{} within {} s. See whether rank 0 runs, and "
        "whether this host may connect to it; --rank-timeout says how long to wait.",
        world.rank, world.size, world.address, world.port,
        std::chrono::duration_cast<std::chrono::seconds>(timeout).count()));
  }
}

std::vector<std::uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

struct RankBoard::Client {
  explicit Client(c10::intrusive_ptr<c10d::TCPStore> joined) : store(std::move(joined)) {}

  std::optional<std::string> read(const std::string& key) const {
    if (!store->check({key})) return std::nullopt;
    const auto bytes = store->get(key);
    return std::string(bytes.begin(), bytes.end());
  }

  const c10::intrusive_ptr<c10d::TCPStore> store;
  std::atomic<bool> ends = false;
  std::promise<void> ended;

  std::mutex mutex;
  std::optional<std::string> cause;  // guarded by mutex
};

namespace {

// In a thread that nobody joins: where rank 0's host is gone, it may wait for an answer for ever.
template <typename Client>
void beat(const std::shared_ptr<Client>& client, int rank) {
  try {
    for (int count = 0; !client->ends; ++count) {
      client->store->set(pulse_key(rank), bytes_of(std::to_string(count)));
      if (auto cause = client->read(kCause)) {
        const std::lock_guard lock(client->mutex);
        client->cause = std::move(cause);
      }
      std::this_thread::sleep_for(kBeat);
    }
  } catch (const std::exception&) {
    // Rank 0 is gone: whoever computes with it will notice.
  }
  client->ended.set_value();
}

template <typename Client>
std::vector<int> still_ones(const Client& client, const World& world) {
  const auto counts = [&] {
    std::vector<std::string> found;
    for (int rank = 0; rank < world.size; ++rank) {
      found.push_back(client.read(pulse_key(rank)).value_or(""));
    }
    return found;
  };
  const auto before = counts();
  std::this_thread::sleep_for(kStill);
  const auto after = counts();
  std::vector<int> still;
  for (int rank = 0; rank < world.size; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (before[i] == after[i] && rank != world.rank) still.push_back(rank);
  }
  return still;
}

}  // namespace

RankBoard::RankBoard(const World& world, std::chrono::milliseconds timeout)
    : world_(world),
      client_(std::make_shared<Client>(connect(world, timeout, world.leads()))),
      pulse_(std::make_shared<Client>(connect(world, timeout, false))) {
  std::thread([client = pulse_, rank = world.rank] { beat(client, rank); }).detach();
}

RankBoard::~RankBoard() {
  pulse_->ends = true;
  pulse_->ended.get_future().wait_for(2 * kBeat);
}

c10::intrusive_ptr<c10d::Store> RankBoard::store() const {
  return client_->store;
}

void RankBoard::write(const std::string& key, const std::string& text) {
  client_->store->set(key, bytes_of(text));
}

std::optional<std::string> RankBoard::read(const std::string& key) {
  return client_->read(key);
}

void RankBoard::write_cause(const std::string& cause) noexcept {
  try {
    if (!client_->read(kCause)) write(kCause, cause);
  } catch (const std::exception&) {
    // Rank 0 is gone, and its board with it.
  }
}

std::optional<std::string> RankBoard::cause() {
  const std::lock_guard lock(pulse_->mutex);
  return pulse_->cause;
}

std::vector<int> RankBoard::ranks_without_pulse() {
  auto found = std::make_shared<std::promise<std::vector<int>>>();
  auto answer = found->get_future();
  std::thread([found, client = client_, world = world_] {
    try {
      found->set_value(still_ones(*client, world));
    } catch (const std::exception&) {
      found->set_value({0});
    }
  }).detach();
  const bool answered = answer.wait_for(kAnswer) == std::future_status::ready;
  return answered ? answer.get() : std::vector<int>{0};
}

}  // namespace myxtts
