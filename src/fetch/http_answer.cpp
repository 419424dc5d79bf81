// SPDX-License-Identifier: Apache-2.0
#include "fetch/http.h"

#include <curl/curl.h>
#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "base/message_text.h"

namespace myxtts {
namespace {

constexpr const char* kKept = "What was fetched is kept; the same command goes on with it.";

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// W/"abc" and "abc" name the same content.
std::string plain_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

// "bytes 0-99/1000", "bytes */0".
void read_content_range(std::string_view value, HttpAnswer& answer) {
  if (!value.starts_with("bytes ")) return;
  value.remove_prefix(6);
  const auto slash = value.find('/');
  if (slash == std::string_view::npos) return;
  answer.size = number_in(value.substr(slash + 1));
  answer.begin = number_in(value.substr(0, std::min(value.find('-'), slash))).value_or(0);
}

}  // namespace

void read_header(std::string_view line, HttpAnswer& answer) {
  line = trimmed(line);
  if (line.starts_with("HTTP/")) {  // the next hop
    answer = {.linked_size = answer.linked_size, .linked_etag = answer.linked_etag};
    const auto space = line.find(' ');
    if (space != std::string_view::npos) {
      answer.status = static_cast<long>(number_in(line.substr(space + 1, 3)).value_or(0));
    }
    return;
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "content-length" && answer.status == 200) answer.size = number_in(value);
  if (name == "content-range") read_content_range(value, answer);
  if (name == "etag") answer.etag = plain_etag(value);
  if (name == "x-linked-etag") answer.linked_etag = plain_etag(value);
  if (name == "x-linked-size") answer.linked_size = number_in(value);
  if (name == "x-error-code") answer.error_code = printable(value);
}

HttpFailure connection_failure(int curl_code, const std::string& host) {
  switch (curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {fmt::format("There is no address for {}. Check the network and the name, or name a "
                          "mirror with --from URL.",
                          host),
              true};
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {"There is no address for the proxy. Check http_proxy, https_proxy and all_proxy.",
              true};
    case CURLE_COULDNT_CONNECT:
      return {fmt::format("{} does not accept a connection. Check the network, and the proxy where "
                          "there is one (https_proxy).",
                          host),
              true};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {
          fmt::format("The certificate of {} is not one to trust, so nothing was fetched. Check "
                      "the clock and the ca-certificates of this machine; where a proxy has a "
                      "certificate of its own, name it with SSL_CERT_FILE=FILE.",
                      host)};
    case CURLE_SSL_CACERT_BADFILE:
      return {
          "The file of certificates cannot be read. Install ca-certificates, or name the file "
          "with SSL_CERT_FILE=FILE."};
    case CURLE_SSL_CONNECT_ERROR:
      return {
          fmt::format("No encrypted connection to {} came about. Check whether the URL is right "
                      "and whether a proxy is needed (https_proxy).",
                      host),
          true};
    case CURLE_TOO_MANY_REDIRECTS:
      return {
          fmt::format("{} redirects in a circle, or more than {} times. Check the URL of --from.",
                      host, kMostRedirects)};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return {
          fmt::format("{} redirects to an address that is not one of HTTPS, which is not "
                      "followed. Check the URL of --from.",
                      host)};
    case CURLE_WRITE_ERROR:  // our own: Transfer::take() refused
      return {fmt::format("{} sends something else than was asked for. Name another mirror with "
                          "--from URL.",
                          host),
              true};
    case CURLE_OPERATION_TIMEDOUT:
      return {fmt::format("{} stopped answering. {}", host, kKept), true};
    default:
      return {fmt::format("The connection to {} broke off. {}", host, kKept), true};
  }
}

HttpFailure status_failure(long status, const std::string& host) {
  if (status == 429) {
    return {fmt::format("{} has too many requests from here (429). {}", host, kKept), true};
  }
  if (status >= 500 || status == 408) {
    return {fmt::format("{} cannot answer now ({}). {}", host, status, kKept), true};
  }
  return {fmt::format("{} answers with {}. Check the URL of --from.", host, status)};
}

std::string host_of(const std::string& url) {
  const auto begin = url.find("://");
  if (begin == std::string::npos) return printable(url);
  const std::string rest = url.substr(begin + 3);
  return printable(rest.substr(0, rest.find_first_of("/?#")));
}

}  // namespace myxtts
