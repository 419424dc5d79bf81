// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "http/guarded_server.h"

namespace myxtts {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr milliseconds kLookForEnd{
    100};  // how often a connection without a request looks for stop()

// What one direction of a connection has moved and waited since the request began.
struct Waits {
  std::int64_t bytes = 0;
  milliseconds waited{0};

  // How long to wait for the next bytes; 0: the other end has used its time up.
  milliseconds left(milliseconds once, milliseconds whole, std::int64_t rate) const {
    return std::clamp(whole + milliseconds(1000 * bytes / rate) - waited, milliseconds(0), once);
  }
};

// False: `limit` passed, or the connection is broken.
bool wait_for(socket_t socket, short event, milliseconds limit) {
  const auto end = SteadyClock::now() + limit;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - SteadyClock::now());
    pollfd wanted{.fd = socket, .events = event, .revents = 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::max(left, milliseconds(0)).count()));
    if (ready >= 0) return ready > 0;
    if (errno != EINTR) return false;
  }
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

void put_address(socket_t socket, NameOf name_of, std::string& ip, int& port) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (name_of(socket, any, &size) != 0 ||
      getnameinfo(any, size, host.data(), host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return;
  }
  ip = host.data();
  port = std::atoi(service.data());
}

}  // namespace

// One connection. Bytes that came with a request and belong to the next one are kept.
class PacedStream : public httplib::Stream {
 public:
  PacedStream(socket_t socket, const Pace& pace) : socket_(socket), pace_(pace) {}

  void begin_request() {
    reads_ = {};
    writes_ = {};
  }

  bool has_bytes() const { return begin_ < end_; }

  // The other end was waited for in vain.
  bool is_given_up() const { return is_given_up_; }

  bool is_readable() const override { return has_bytes() || can_read(); }

  // Also false when the other end has left, without waiting for a write to find out.
  bool is_writable() const override {
    char next = 0;
    return can_write() && recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
  }

  ssize_t read(char* bytes, std::size_t size) override {
    if (!has_bytes() && !refill()) return -1;
    const std::size_t count = std::min(size, end_ - begin_);
    std::memcpy(bytes, buffer_.data() + begin_, count);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, std::size_t size) override {
    if (!is_writable()) return -1;
    const auto sent = send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) writes_.bytes += sent;
    return sent;
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    put_address(socket_, getpeername, ip, port);
  }

  void get_local_ip_and_port(std::string& ip, int& port) const override {
    put_address(socket_, getsockname, ip, port);
  }

  socket_t socket() const override { return socket_; }

 private:
  bool can_read() const {
    return waited(POLLIN, reads_, reads_.left(pace_.one_read, pace_.whole, pace_.read_rate));
  }

  bool can_write() const {
    return waited(POLLOUT, writes_, writes_.left(pace_.one_write, pace_.whole, pace_.write_rate));
  }

  bool waited(short event, Waits& waits, milliseconds limit) const {
    const auto begun = SteadyClock::now();
    const bool is_ready = wait_for(socket_, event, limit);
    is_given_up_ = is_given_up_ || !is_ready;
    waits.waited += std::chrono::duration_cast<milliseconds>(SteadyClock::now() - begun);
    return is_ready;
  }

  // False: nothing more comes, or not in time.
  bool refill() {
    if (!can_read()) return false;
    const auto count = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count <= 0) return false;
    reads_.bytes += count;
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
    return true;
  }

  const socket_t socket_;
  const Pace& pace_;
  mutable Waits reads_, writes_;
  mutable bool is_given_up_ = false;
  std::array<char, 4096> buffer_{};
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// Waits for it; not once the server ends.
bool PacedServer::has_next_request(PacedStream& connection) const {
  if (connection.has_bytes()) return true;
  const auto end = SteadyClock::now() + pace_.next_request;
  while (svr_sock_ != INVALID_SOCKET && SteadyClock::now() < end) {
    if (wait_for(connection.socket(), POLLIN, std::min(kLookForEnd, pace_.next_request)))
      return true;
  }
  return false;
}

bool PacedServer::process_and_close_socket(socket_t socket) {
  PacedStream connection(socket, pace_);
  bool is_served = false;
  bool is_closed = false;
  for (auto left = keep_alive_max_count_; left > 0 && !is_closed; --left) {
    if (!has_next_request(connection)) break;
    connection.begin_request();
    is_served = process_request(connection, left == 1, is_closed, nullptr);
    if (!is_served || connection.is_given_up()) break;
  }
  shutdown(socket, SHUT_RDWR);
  close(socket);
  return is_served;
}

}  // namespace myxtts
