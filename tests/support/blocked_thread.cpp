// SPDX-License-Identifier: Apache-2.0
#include "support/blocked_thread.h"

#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

namespace myxtts::test {

BlockedThread::BlockedThread(std::function<void()> call)
    : thread_([this, call = std::move(call)] {
        id_promise_.set_value(gettid());
        call();
      }) {}

void BlockedThread::wait_until_asleep() {
  const std::string path = "/proc/self/task/" + std::to_string(id_.get()) + "/stat";
  while (true) {
    std::string number;
    std::string name;
    std::string state;
    if (!(std::ifstream(path) >> number >> name >> state) || state == "S") return;
    std::this_thread::yield();
  }
}

}  // namespace myxtts::test
