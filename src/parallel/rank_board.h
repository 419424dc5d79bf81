// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "parallel/world.h"

namespace c10d {
class Store;
}

namespace myxtts {

// Short notes that every rank can read, kept by rank 0's process. Each rank's heartbeat is among
// them: a count that a separate thread increments several times a second, so that the remaining
// ranks know who is gone. Any thread may use it.
class RankBoard {
 public:
  // Joins rank 0's board, or opens it. Throws DeviceError where that is not there within `timeout`.
  RankBoard(const World& world, std::chrono::milliseconds timeout);
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;
  ~RankBoard();

  c10::intrusive_ptr<c10d::Store> store() const;

  // Throw where rank 0 is gone.
  void write(const std::string& key, const std::string& text);
  std::optional<std::string> read(const std::string& key);

  // Why the run ends: the first cause that is written counts. The heartbeat thread reads it, so
  // that it is known here even when rank 0 has gone since.
  void write_cause(const std::string& cause) noexcept;
  std::optional<std::string> cause();

  // Those whose heartbeat has stopped, as far as this rank can see within a few seconds; rank 0
  // alone where the board itself is gone. Takes a second or more.
  std::vector<int> ranks_without_pulse();

 private:
  struct Client;

  const World world_;
  std::shared_ptr<Client> client_;
  std::shared_ptr<Client> pulse_;  // with a separate connection
};

}  // namespace myxtts
