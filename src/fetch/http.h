// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "fetch/http_answer.h"

namespace myxtts {

struct HttpSettings {
  std::string token = {};  // for the host of a URL, never for one that it redirects to
  int connections = 4;     // at once
  std::uint64_t piece_bytes = 16U << 20U;     // of a large file that are asked for at once
  int tries = 6;                              // of a request that gets nowhere
  std::chrono::milliseconds first_wait{500};  // before the second try; doubled each time
  std::chrono::seconds stall{30};  // a connection that brings nothing for so long has broken off
};

// An answer that another try would not change.
struct HttpStatusError : DataError {
  HttpStatusError(const std::string& sentence, const HttpAnswer& given)
      : DataError(sentence), answer(given) {}
  HttpAnswer answer;
};

// Nothing was heard of any server: the network, or an address, is wrong.
struct NoNetworkError : DataError {
  using DataError::DataError;
};

// Bytes `next` to `end` of a URL, handed over as they come.
struct HttpRequest {
  std::string url;
  std::uint64_t next = 0;  // the first byte that is missing; moves on
  std::uint64_t end = 0;   // 0: the whole, without a range; begins again when it breaks off
  // Before the first byte of every try; throws where this is not what was asked for.
  std::function<void(const HttpAnswer&)> check = {};
  std::function<void(std::uint64_t at, std::span<const std::byte>)> take;
};

// The certificates of this system; empty: none is known.
std::string certificate_file();

// Asks servers over HTTP and HTTPS, several connections at once in the caller's thread.
// Certificates are checked, five redirects followed (never from https to http), the usual proxy
// variables heeded. What breaks off, and what a server says it cannot do now (429, 5xx), is tried
// again after a while, which the server may set (Retry-After). Every failure is a DataError of one
// sentence with what to do. Throws Interrupted where somebody looks for that. One thread.
class HttpClient {
 public:
  explicit HttpClient(HttpSettings settings = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  const HttpSettings& settings() const { return settings_; }

  // A text of at most `limit` bytes.
  std::string text(const std::string& url, std::size_t limit);

  // What the server says of a file, without the file.
  HttpAnswer ask(const std::string& url);

  // Waits until all are done, in this order, so many at once as there are connections.
  void fetch(std::vector<HttpRequest>& requests);

 private:
  class Transfer;

  void run(std::vector<std::unique_ptr<Transfer>>& transfers);
  bool start_next(std::vector<std::unique_ptr<Transfer>>& transfers);
  void settle(Transfer& transfer, int result);

  const HttpSettings settings_;
  void* const multi_;       // libcurl's
  bool has_heard_ = false;  // anything from any server: so there is a network
};

}  // namespace myxtts
