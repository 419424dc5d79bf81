// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace myxtts {

// A request of some text, and its answer.
struct HttpExchange {
  std::string url;
  std::string body = {};           // JSON that is posted; empty: nothing is, it is a GET
  std::string user = {};           // "name:password"
  std::string token = {};          // of Authorization: Bearer
  std::chrono::seconds limit{10};  // for all of it

  int status = 0;            // of the answer; 0: there is none
  std::string answer = {};   // at most a megabyte
  std::string failure = {};  // why there is none: "Could not connect to server"
};

// Waits for the answer, for the limit to pass, or until `stopped` is set. Certificates are checked,
// the usual proxy variables heeded, redirects not followed. Any thread.
void run_exchange(HttpExchange& request, const std::atomic<bool>& stopped);

}  // namespace myxtts
