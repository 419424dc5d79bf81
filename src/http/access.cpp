// SPDX-License-Identifier: Apache-2.0
#include "http/access.h"

#include <algorithm>
#include <array>
#include <utility>

namespace myxtts {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kMostAddresses = 10'000;  // that are remembered

// Whoever looks whether the server is there needs no key, nor does the page, which asks for it.
constexpr std::array<std::string_view, 3> kOpenPaths = {"/", "/health", "/ready"};

// "localhost:8020" -> "localhost", "[::1]:8020" -> "::1".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

std::string_view without_scheme(std::string_view origin) {
  const auto at = origin.find("://");
  return at == std::string_view::npos ? origin : origin.substr(at + 3);
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "127.0.0.1";
}

Access::Access(AccessRules rules, const Clock& clock) : rules_(std::move(rules)), clock_(clock) {}

std::optional<RequestError> Access::check(const Visitor& visitor) {
  if (!is_known_host(visitor.host)) {
    return RequestError{
        403, "forbidden_host",
        "This server is not known by that name. It listens for its own machine alone; "
        "call it by 127.0.0.1 or localhost."};
  }
  if (is_cross_site(visitor)) {
    return RequestError{
        403, "forbidden_origin",
        "Pages of other sites may not use this server. Start it with --allow-origin and "
        "the page's address to let one in."};
  }
  if (exceeds_rate(visitor.address)) {
    return RequestError{429, "rate_limit_exceeded",
                        "Too many requests from this address; wait a little, then ask again."};
  }
  const bool is_open = std::ranges::find(kOpenPaths, visitor.path) != kOpenPaths.end();
  if (!is_open && !has_key(visitor.authorization)) {
    return RequestError{401, "invalid_api_key",
                        "This server wants an API key: send the header Authorization: Bearer KEY."};
  }
  return {};
}

bool Access::allows_origin(const std::string& origin) const {
  return std::ranges::find(rules_.origins, origin) != rules_.origins.end();
}

// A page that made its own name point here would be sent with that name.
bool Access::is_known_host(std::string_view host) const {
  if (rules_.hosts.empty()) return true;
  const std::string_view name = without_port(host);
  return std::ranges::any_of(rules_.hosts, [&](const auto& known) { return known == name; });
}

// Browsers say where a page comes from that asks; programs do not.
bool Access::is_cross_site(const Visitor& visitor) const {
  if (allows_origin(visitor.origin)) return false;
  if (visitor.origin.empty()) return visitor.fetch_site == "cross-site";
  return without_scheme(visitor.origin) != visitor.host;
}

bool Access::has_key(std::string_view authorization) const {
  if (rules_.keys.empty()) return true;
  if (!authorization.starts_with(kBearer)) return false;
  bool found = false;
  for (const auto& key : rules_.keys) {
    found = equal_in_constant_time(authorization.substr(kBearer.size()), key) || found;
  }
  return found;
}

bool Access::exceeds_rate(const std::string& address) {
  if (rules_.per_minute == 0) return false;
  const auto most = static_cast<double>(rules_.per_minute);
  const auto now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (allowances_.size() >= kMostAddresses) allowances_.clear();
  auto& left = allowances_.try_emplace(address, Allowance{most, now}).first->second;
  left.requests = std::min(most, left.requests + seconds_in(now - left.at) * most / 60.0);
  left.at = now;
  if (left.requests < 1.0) return true;
  left.requests -= 1.0;
  return false;
}

}  // namespace myxtts
