// SPDX-License-Identifier: Apache-2.0
#include "parallel/local_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include "base/error.h"

namespace myxtts {
namespace {

[[noreturn]] void no_way(const std::string& host, const std::string& reason) {
  throw DeviceError(fmt::format(
      "The host of rank 0, {}, cannot be reached: {}. Give the launcher an address that every host "
      "knows (MASTER_ADDR).",
      host, reason));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) no_way(host, gai_strerror(status));
  return {found, &freeaddrinfo};
}

// Connecting a datagram socket sends nothing: it only chooses the way.
std::string address_of_way(const addrinfo& target) {
  const int socket = ::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  const bool known = ::connect(socket, target.ai_addr, target.ai_addrlen) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
                     getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text.data(),
                                 text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  const int reason = errno;
  ::close(socket);
  errno = reason;
  return known ? std::string(text.data()) : std::string();
}

}  // namespace

std::string local_address_towards(const std::string& host, int port) {
  const Addresses targets = resolve(host, port);
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    const std::string address = address_of_way(*target);
    if (!address.empty()) return address;
  }
  no_way(host, std::generic_category().message(errno));
}

}  // namespace myxtts
