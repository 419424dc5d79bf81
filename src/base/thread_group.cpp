// SPDX-License-Identifier: Apache-2.0
#include "base/thread_group.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {

ThreadGroup::~ThreadGroup() {
  try {
    join();
  } catch (const std::exception& error) {
    log_error("base", "a thread ended with: {}", error.what());
  } catch (...) {
    log_error("base", "a thread ended with an unknown exception");
  }
}

void ThreadGroup::start(const std::string& name, std::function<void()> work) {
  const auto run = [this, short_name = name.substr(0, 15), work = std::move(work)] {
    pthread_setname_np(pthread_self(), short_name.c_str());
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  };
  try {
    threads_.emplace_back(run);
  } catch (const std::system_error& error) {
    throw DeviceError(
        fmt::format("The system refuses to start another thread ({}): {}. Raise the limit (ulimit "
                    "-u; ulimit -v where memory is limited), or ask for fewer workers.",
                    name, error.what()));
  }
}

void ThreadGroup::join() {
  wait_for_all();
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = std::exchange(failure_, nullptr);
  }
  if (failure) std::rethrow_exception(failure);
}

void ThreadGroup::wait_for_all() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace myxtts
