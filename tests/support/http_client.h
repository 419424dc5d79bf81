// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace myxtts::test {

struct HttpReply {
  int status = 0;  // 0: the connection ended without one
  std::string head;
  std::string body;
};

// A client of HTTP that knows no rules: sends bytes and reads to the end of the connection.
class HttpTalk {
 public:
  explicit HttpTalk(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) leave();
    const timeval slowest{.tv_sec = 120, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &slowest, sizeof(slowest));
  }
  HttpTalk(const HttpTalk&) = delete;
  HttpTalk& operator=(const HttpTalk&) = delete;
  ~HttpTalk() { leave(); }

  void send(const std::string& bytes) const {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const auto count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  // Nothing more is sent.
  void end() const { shutdown(socket_, SHUT_WR); }

  // Within that time.
  bool has_answer_or_end(std::chrono::milliseconds limit) const {
    pollfd wanted{.fd = socket_, .events = POLLIN, .revents = 0};
    return poll(&wanted, 1, static_cast<int>(limit.count())) > 0;
  }

  std::string read_some() const {
    std::string bytes(65536, '\0');
    const auto count = recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return bytes;
  }

  HttpReply read_answer() const {
    std::string all;
    for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
    HttpReply answer;
    const auto end = all.find("\r\n\r\n");
    if (end == std::string::npos) return answer;
    answer.head = all.substr(0, end + 2);
    answer.status = std::stoi(all.substr(9, 3));
    answer.body = all.substr(end + 4);
    if (answer.head.find("chunked") != std::string::npos) answer.body = unchunked(answer.body);
    return answer;
  }

  void leave() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

 private:
  // Without the last, empty chunk an answer was broken off.
  static std::string unchunked(const std::string& bytes) {
    std::string body;
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::size_t size = std::stoul(bytes.substr(at), nullptr, 16);
      at = bytes.find("\r\n", at) + 2;
      if (size == 0) return body;
      body += bytes.substr(at, size);
      at += size + 2;
    }
    return body + " (broken off)";
  }

  int socket_;
};

}  // namespace myxtts::test
