// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts {

// While it lives, what its thread logs below an error is dropped and its progress is not shown:
// where several threads do the same for different ranks, one speaks for all.
class QuietThread {
 public:
  QuietThread();
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;
  ~QuietThread();

 private:
  const bool before_;
};

bool thread_is_quiet();

}  // namespace myxtts
