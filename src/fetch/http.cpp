// SPDX-License-Identifier: Apache-2.0
#include "fetch/http.h"

#include <curl/curl.h>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

using namespace std::chrono_literals;

constexpr long kConnectSeconds = 30;
constexpr auto kLongestWait = 120s;  // that a server may ask for
constexpr auto kBetweenLooks = 100ms;

}  // namespace

// The certificates of this system: libcurl knows the place of the system it was built on alone.
std::string certificate_file() {
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE"}) {
    if (const char* file = std::getenv(name); file != nullptr && *file != '\0') return file;
  }
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    std::error_code unreadable;
    if (std::filesystem::exists(file, unreadable)) return file;
  }
  return {};
}

// One request and its connection. A transfer waits, runs, then waits for its next try or is done.
class HttpClient::Transfer {
 public:
  Transfer(HttpRequest& request, bool only_answer) : request_(request), only_answer_(only_answer) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() { stop(); }

  void start(CURLM* multi, const HttpSettings& settings) {
    easy_ = curl_easy_init();
    MYXTTS_CHECK(easy_ != nullptr, "libcurl gives no handle");
    multi_ = multi;
    answer = {};
    moved_ = false;
    accepted_ = false;
    if (request_.end == 0) request_.next = 0;
    set_address();
    set_limits(settings);
    set_callbacks();
    curl_multi_add_handle(multi_, easy_);
  }

  void stop() {
    if (easy_ == nullptr) return;
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_cleanup(std::exchange(easy_, nullptr));
  }

  bool runs() const { return easy_ != nullptr; }
  bool owns(const CURL* easy) const { return easy_ == easy; }

  // Why a try failed. Call it before stop().
  HttpFailure failure(CURLcode result) const {
    char* url = nullptr;  // behind all redirects
    curl_easy_getinfo(easy_, CURLINFO_EFFECTIVE_URL, &url);
    const std::string host = host_of(url != nullptr ? url : request_.url);
    long proxy_status = 0;
    curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    log_debug("fetch", "{}: {} ({})", host, curl_easy_strerror(result), answer.status);
    if (has_final_status(result)) return status_failure(answer.status, host);
    if (proxy_status >= 400) {
      return {
          fmt::format("The proxy refuses the way to {} ({}). Check https_proxy, and the name and "
                      "password in it.",
                      host, proxy_status)};
    }
    const bool is_no_http = result == CURLE_UNSUPPORTED_PROTOCOL && answer.status == 0;
    return connection_failure(is_no_http ? CURLE_WEIRD_SERVER_REPLY : result, host);
  }

  // A redirect whose target failed leaves its own status behind.
  bool has_final_status(CURLcode result) const {
    const bool ended = result == CURLE_OK || result == CURLE_WRITE_ERROR;
    return answer.status >= 400 || (answer.status >= 300 && ended);
  }

  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  bool is_whole(CURLcode result) const {
    if (answer.status != 200 && answer.status != 206) return false;
    if (only_answer_) return true;
    return request_.end == 0 ? result == CURLE_OK : request_.next == request_.end;
  }

  // A try that got further is not one of those that are counted.
  bool got_further() const { return moved_ && request_.end != 0; }

  std::chrono::seconds asked_to_wait() const {
    curl_off_t seconds = 0;
    curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds);
    return std::chrono::seconds(seconds);
  }

  HttpAnswer answer;
  int failures = 0;  // in a row, that got nowhere
  Clock::Time not_before{};
  bool done = false;

 private:
  void set_address() {
    curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
    if (request_.end != 0) {
      const std::string range = fmt::format("{}-{}", request_.next, request_.end - 1);
      curl_easy_setopt(easy_, CURLOPT_RANGE, range.c_str());
    }
    const char* protocols = request_.url.starts_with("https:") ? "https" : "http,https";
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, protocols);
    curl_easy_setopt(easy_, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
    curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy_, CURLOPT_MAXREDIRS, kMostRedirects);
    curl_easy_setopt(easy_, CURLOPT_USERAGENT, "myxtts");
    // One connection for each transfer: over one that all share, none would be faster.
    curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }

  void set_limits(const HttpSettings& settings) {
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
    if (const std::string file = certificate_file(); !file.empty()) {
      curl_easy_setopt(easy_, CURLOPT_CAINFO, file.c_str());
    }
    if (!settings.token.empty()) {  // libcurl keeps it from other hosts, ports and protocols
      curl_easy_setopt(easy_, CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
      curl_easy_setopt(easy_, CURLOPT_XOAUTH2_BEARER, settings.token.c_str());
      curl_easy_setopt(easy_, CURLOPT_UNRESTRICTED_AUTH, 0L);
    }
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    curl_easy_setopt(easy_, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy_, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings.stall.count()));
  }

  void set_callbacks() {
    using Callback = std::size_t (*)(char*, std::size_t, std::size_t, void*);
    const Callback header = [](char* line, std::size_t, std::size_t size, void* self) {
      read_header({line, size}, static_cast<Transfer*>(self)->answer);
      return size;
    };
    const Callback body = [](char* bytes, std::size_t, std::size_t size, void* self) {
      const auto taken = std::as_bytes(std::span(bytes, size));
      return static_cast<Transfer*>(self)->take(taken) ? size : std::size_t{0};
    };
    curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // those of a proxy
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, header);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  }

  // False ends the transfer. No exception may pass libcurl.
  bool take(std::span<const std::byte> bytes) {
    const bool has_range = request_.end != 0;
    if (answer.status != (has_range ? 206 : 200)) return false;
    if (has_range && bytes.size() > request_.end - request_.next) return false;
    if (only_answer_) return true;
    try {
      if (!std::exchange(accepted_, true)) {
        if (request_.check) request_.check(answer);
        if (has_range && answer.begin != request_.next) return false;
      }
      request_.take(request_.next, bytes);
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
    request_.next += bytes.size();
    moved_ = true;
    return true;
  }

  HttpRequest& request_;
  const bool only_answer_;
  CURL* easy_ = nullptr;  // while it runs
  CURLM* multi_ = nullptr;
  bool moved_ = false;     // in this try
  bool accepted_ = false;  // in this try
  std::exception_ptr thrown_;
};

HttpClient::HttpClient(HttpSettings settings)
    : settings_(std::move(settings)), multi_(curl_multi_init()) {
  MYXTTS_CHECK(multi_ != nullptr, "libcurl gives no handle");
}

HttpClient::~HttpClient() {
  curl_multi_cleanup(static_cast<CURLM*>(multi_));
}

std::string HttpClient::text(const std::string& url, std::size_t limit) {
  std::string text;
  std::vector<HttpRequest> requests(1);
  requests[0] = {.url = url, .take = [&](std::uint64_t at, std::span<const std::byte> bytes) {
                   if (at + bytes.size() > limit) {
                     throw DataError(
                         fmt::format("{} answers with more than {}. Check the URL of "
                                     "--from.",
                                     host_of(url), human_size(limit)));
                   }
                   text.resize(at);
                   text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                 }};
  fetch(requests);
  return text;
}

HttpAnswer HttpClient::ask(const std::string& url) {
  HttpRequest request{.url = url, .end = 1, .take = {}};
  std::vector<std::unique_ptr<Transfer>> transfers;
  transfers.push_back(std::make_unique<Transfer>(request, /*only_answer=*/true));
  run(transfers);
  return transfers.front()->answer;
}

void HttpClient::fetch(std::vector<HttpRequest>& requests) {
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (HttpRequest& request : requests) {
    transfers.push_back(std::make_unique<Transfer>(request, /*only_answer=*/false));
  }
  run(transfers);
}

void HttpClient::run(std::vector<std::unique_ptr<Transfer>>& transfers) {
  CURLM* multi = static_cast<CURLM*>(multi_);
  const auto is_done = [](const auto& transfer) { return transfer->done; };
  while (!std::ranges::all_of(transfers, is_done)) {
    while (start_next(transfers)) {
    }
    int running = 0;
    curl_multi_perform(multi, &running);
    bool has_settled = false;
    for (int rest = 0; const CURLMsg* message = curl_multi_info_read(multi, &rest);) {
      const auto owner = std::ranges::find_if(
          transfers, [&](const auto& each) { return each->owns(message->easy_handle); });
      end_transfer(**owner, message->data.result);
      has_settled = true;
    }
    stop_if_interrupted();
    if (has_settled) continue;
    const auto wait = std::min<std::chrono::milliseconds>(settings_.first_wait, kBetweenLooks);
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
}

// False: none may begin now.
bool HttpClient::start_next(std::vector<std::unique_ptr<Transfer>>& transfers) {
  const auto now = system_clock().now();
  const auto running = std::ranges::count_if(transfers, [](const auto& t) { return t->runs(); });
  if (running >= settings_.connections) return false;
  const auto next = std::ranges::find_if(transfers, [&](const auto& transfer) {
    return !transfer->done && !transfer->runs() && transfer->not_before <= now;
  });
  if (next == transfers.end()) return false;
  (*next)->start(static_cast<CURLM*>(multi_), settings_);
  return true;
}

// After a try: it is done, or tried again later, or its failure is thrown.
void HttpClient::end_transfer(Transfer& transfer, int result) {
  const auto code = static_cast<CURLcode>(result);
  const std::chrono::seconds asked = transfer.asked_to_wait();
  const HttpFailure failure = transfer.failure(code);
  transfer.stop();
  transfer.rethrow();
  has_heard_ = has_heard_ || transfer.answer.status != 0;
  transfer.done = transfer.is_whole(code);
  if (transfer.done) return;

  if (transfer.has_final_status(code) && !failure.may_pass) {
    throw HttpStatusError(failure.sentence, transfer.answer);
  }
  transfer.failures = transfer.got_further() ? 1 : transfer.failures + 1;
  if (asked > kLongestWait) {
    throw DataError(fmt::format("{} It asks to wait {}.", failure.sentence, human_duration(asked)));
  }
  if (!has_heard_) throw NoNetworkError(failure.sentence);
  if (!failure.may_pass || transfer.failures >= settings_.tries) throw DataError(failure.sentence);

  const auto doubled = settings_.first_wait * (1 << (transfer.failures - 1));
  const auto wait = asked > 0s ? std::chrono::milliseconds(asked) : doubled;
  if (wait >= 2s)
    log_info("fetch", "{} Trying again in {}.", failure.sentence, human_duration(wait));
  transfer.not_before = system_clock().now() + wait;
}

}  // namespace myxtts
