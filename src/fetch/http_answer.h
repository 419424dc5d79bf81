// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace myxtts
