// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/thread_group.h"
#include "serve/speech_service.h"

namespace myxtts {

// The service over Wyoming: describe, synthesize, and the form whose text comes in pieces. A thread
// for each connection.
class WyomingServer {
 public:
  // Listens from now on. Throws ConfigError when nobody can listen there.
  WyomingServer(SpeechService& service, const std::string& host, int port,
                std::size_t most_bytes_of_text);
  WyomingServer(const WyomingServer&) = delete;
  WyomingServer& operator=(const WyomingServer&) = delete;
  ~WyomingServer();  // ends all connections

  int port() const { return port_; }

 private:
  struct Connection {
    OpenFile socket;
    std::atomic<bool> has_ended = false;
    std::thread thread;
  };
  class Conversation;

  void accept_connections();
  void remove_ended();

  SpeechService& service_;
  const std::size_t most_bytes_of_text_;
  OpenFile listener_;
  int port_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::list<Connection> connections_;  // of the accepting thread, and of the destructor after it
  ThreadGroup threads_;
};

}  // namespace myxtts
