// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "http/request_error.h"

namespace myxtts {

// Who may ask the server for something.
struct AccessRules {
  std::vector<std::string> keys;   // one of them must come with a request; empty: none is asked for
  std::vector<std::string> hosts;  // names that the server may be called by; empty: any
  std::vector<std::string> origins;  // of pages elsewhere that may ask: "https://example.org"
  std::int64_t per_minute = 0;       // requests of one address; 0: as many as it likes
};

// How long a server waits for the other end of a connection. Only waiting counts, not the time in
// which the server itself computes.
struct Pace {
  std::chrono::milliseconds one_read{10'000};   // for the next bytes of a request
  std::chrono::milliseconds one_write{30'000};  // for room for the next bytes of an answer
  std::chrono::milliseconds next_request{2'000};
  // Of a whole request, and of a whole answer: this long, and longer by what came or went. Who
  // sends a byte now and then would otherwise hold a thread for good.
  std::chrono::milliseconds whole{20'000};
  std::int64_t read_rate = 16'384;  // bytes a second
  std::int64_t write_rate = 1'024;
};

// Where a server listens, and whom it lets in.
struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: any that is free
  AccessRules access = {};
  std::size_t connections = 32;  // served at once; more wait
  Pace pace = {};
};

// What access is decided by.
struct Visitor {
  std::string path = {};
  std::string address = {};        // of the other end
  std::string authorization = {};  // headers, empty where they did not come
  std::string host = {};
  std::string origin = {};
  std::string fetch_site = {};  // Sec-Fetch-Site
};

// Decides about requests. Any thread.
class Access {
 public:
  explicit Access(AccessRules rules, const Clock& clock = system_clock());

  // Why a request is turned away; nothing: it may come in.
  std::optional<RequestError> check(const Visitor& visitor);

  bool allows_origin(const std::string& origin) const;

 private:
  bool is_known_host(std::string_view host) const;
  bool is_cross_site(const Visitor& visitor) const;
  bool has_key(std::string_view authorization) const;
  bool exceeds_rate(const std::string& address);

  const AccessRules rules_;
  const Clock& clock_;

  // What an address has left, refilled as time goes by.
  struct Allowance {
    double requests = 0;
    Clock::Time at;
  };
  std::mutex mutex_;
  std::map<std::string, Allowance> allowances_;  // guarded by mutex_
};

// Takes as long for a wrong key as for the right one.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// 127.0.0.1, ::1, localhost: nobody else can reach it.
bool is_loopback(std::string_view host);

}  // namespace myxtts
