// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace myxtts {

// What a server said of a file: its last answer, and of those before it, which only redirected, the
// headers X-Linked-Size and X-Linked-Etag, with which a hub tells what it leads to.
struct HttpAnswer {
  long status = 0;
  std::uint64_t begin = 0;                 // where in the file its body begins
  std::optional<std::uint64_t> size = {};  // of the whole file
  std::optional<std::uint64_t> linked_size = {};
  std::string etag = {};  // without quotes
  std::string linked_etag = {};
  std::string error_code = {};  // X-Error-Code: "RepoNotFound", "GatedRepo"

  bool has_ranges() const { return status == 206; }
  const std::string& content() const { return linked_etag.empty() ? etag : linked_etag; }
};

// One header line, or the status line that begins the next answer.
void read_header(std::string_view line, HttpAnswer& answer);

struct HttpFailure {
  std::string sentence;   // with what to do
  bool may_pass = false;  // another try may do
};

inline constexpr long kMostRedirects = 5;

// What a try failed of: below HTTP, by libcurl's code, or by the status of its answer.
HttpFailure connection_failure(int curl_code, const std::string& host);
HttpFailure status_failure(long status, const std::string& host);

// "huggingface.co", "127.0.0.1:8080": what a sentence calls the server of a URL.
std::string host_of(const std::string& url);

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
  void end_transfer(Transfer& transfer, int result);

  const HttpSettings settings_;
  void* const multi_;       // libcurl's
  bool has_heard_ = false;  // anything from any server: so there is a network
};

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
