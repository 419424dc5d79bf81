// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace myxtts {

// The sound of one request on its way from the thread that makes it to the one that sends it.
//
//   maker ──add()*──▶ finish() or fail()     never waits: a slow reader holds nobody up
//   reader ◀──next()*──      ──cancel()──▶   the maker sees it at its next add()
//
// One maker and one reader. What is kept is bounded by the length of the request's text.
class Speech {
 public:
  // Maker. False: the reader wants no more.
  bool add(std::span<const float> samples);
  void finish(std::int64_t codes);  // made for all of it
  void fail(std::exception_ptr failure);
  bool is_cancelled() const;

  // Reader. Everything that was added since, after waiting for something up to `wait`; nothing when
  // nothing came in that time. Empty samples: the sound has ended. Throws what fail() was given,
  // after all that was added before.
  std::optional<std::vector<float>> next(std::chrono::milliseconds wait);
  void cancel();
  std::int64_t codes() const;  // after the end

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;

  // Everything below is guarded by mutex_.
  std::vector<float> samples_;
  std::int64_t codes_ = 0;
  bool has_ended_ = false;
  bool is_cancelled_ = false;
  std::exception_ptr failure_;
};

}  // namespace myxtts
