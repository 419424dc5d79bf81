// SPDX-License-Identifier: Apache-2.0
#include "serve/wyoming.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "audio/audio_file.h"
#include "base/error.h"
#include "base/log.h"
#include "http/request_error.h"
#include "serve/speech_order.h"
#include "serve/wyoming_event.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostConnections = 64;
constexpr int kIdleSeconds = 300;  // after which a connection without a word is closed

}  // namespace

// What is said on one connection.
class WyomingServer::Conversation {
 public:
  Conversation(WyomingServer& server, int socket) : server_(server), socket_(socket) {}

  void run() {
    WyomingReader reader;
    std::array<char, 4096> bytes{};
    while (wait_for_bytes()) {
      const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
      if (count <= 0) return;
      reader.add({bytes.data(), static_cast<std::size_t>(count)});
      while (const auto event = reader.next()) answer(*event);
    }
  }

 private:
  bool wait_for_bytes() const {
    for (int waited = 0; waited < kIdleSeconds * 5 && !server_.is_closing_; ++waited) {
      pollfd file{socket_, POLLIN, 0};
      if (poll(&file, 1, 200) > 0) return true;
    }
    return false;
  }

  void answer(const WyomingEvent& event) {
    if (event.type == "describe") {
      send({.type = "info", .data = info()});
    } else if (event.type == "ping") {
      send({.type = "pong", .data = event.data});
    } else if (event.type == "synthesize") {
      // Sent once more, for servers of old, by those who stream.
      if (!is_streaming_) speak(text_of(event), event.data);
    } else if (event.type == "synthesize-start") {
      is_streaming_ = true;
      streamed_ = event.data;
    } else if (event.type == "synthesize-chunk" && is_streaming_) {
      speak(sentences_.add(text_of(event)), streamed_);
    } else if (event.type == "synthesize-stop" && is_streaming_) {
      speak(sentences_.rest(), streamed_);
      is_streaming_ = false;
      send({.type = "synthesize-stopped"});
    }
  }

  static std::string text_of(const WyomingEvent& event) {
    return event.data.contains("text") && event.data["text"].is_string()
               ? event.data["text"].get<std::string>()
               : std::string();
  }

  // {"voice": {"name": ..., "language": ...}}, each of which may be missing.
  static std::string of_voice(const Json& data, const char* name) {
    if (!data.contains("voice") || !data["voice"].is_object()) return {};
    const Json& voice = data["voice"];
    return voice.contains(name) && voice[name].is_string() ? voice[name].get<std::string>() : "";
  }

  void speak(const std::string& text, const Json& data) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) return;
    try {
      check_text(text, server_.most_bytes_of_text_, "text");
      SpeechOrder order{.text = text,
                        .voice = of_voice(data, "name"),
                        .model = {},
                        .language = of_voice(data, "language")};
      if (order.voice.empty()) order.voice = first_voice();
      send_speech(server_.service_.say(order));
    } catch (const RequestError& error) {
      send({.type = "error", .data = {{"text", error.what()}, {"code", error.code()}}});
    }
  }

  std::string first_voice() const {
    const auto names = server_.service_.voice_names();
    if (!names.empty()) return names.front();
    throw RequestError(400, "voice_not_found", "The server has no voice to speak in.", "voice");
  }

  void send_speech(const StartedSpeech& started) {
    const Json format = {{"rate", started.model->sample_rate()}, {"width", 2}, {"channels", 1}};
    try {
      send({.type = "audio-start", .data = format});
      while (true) {
        const auto samples = started.speech->next(kSoundWait);
        if (!samples) {
          if (server_.is_closing_ || has_left()) throw RequestError(499, "client_left", "");
          continue;
        }
        if (samples->empty()) break;
        const auto values = to_16_bits(*samples);
        send({.type = "audio-chunk",
              .data = format,
              .payload = {reinterpret_cast<const char*>(values.data()), values.size() * 2}});
      }
      send({.type = "audio-stop"});
    } catch (...) {  // whatever it was goes on; nobody hears this speech any more
      started.speech->cancel();
      throw;
    }
  }

  bool has_left() const {
    char byte = 0;
    const ssize_t count = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

  Json info() const {
    const Json by = {{"name", "MyXTTS"}, {"url", ""}};
    const Json codes = spoken_languages(server_.service_.models().get({})->model());
    Json voices = Json::array();
    for (const auto& name : server_.service_.voice_names()) {
      voices.push_back({{"name", name},
                        {"description", name},
                        {"attribution", by},
                        {"installed", true},
                        {"version", nullptr},
                        {"languages", codes},
                        {"speakers", nullptr}});
    }
    return {{"tts", Json::array({{{"name", "myxtts"},
                                  {"description", "XTTS voices of MyXTTS"},
                                  {"attribution", by},
                                  {"installed", true},
                                  {"version", nullptr},
                                  {"voices", voices},
                                  {"supports_synthesize_streaming", true}}})}};
  }

  void send(const WyomingEvent& event) const {
    const std::string bytes = print_event(event);
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw RequestError(499, "client_left", "The client went away.");
      sent += static_cast<std::size_t>(count);
    }
  }

  WyomingServer& server_;
  int socket_;
  bool is_streaming_ = false;
  Json streamed_;
  SentenceCollector sentences_;
};

namespace {

int listening_socket(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  const int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (file >= 0 && bind(file, found->ai_addr, found->ai_addrlen) == 0 && listen(file, 16) == 0) {
    return file;
  }
  if (file >= 0) close(file);
  return -1;
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

WyomingServer::WyomingServer(SpeechService& service, const std::string& host, int port,
                             std::size_t most_bytes_of_text)
    : service_(service),
      most_bytes_of_text_(most_bytes_of_text),
      listener_(listening_socket(host, port)) {
  if (listener_.get() < 0) {
    throw ConfigError(fmt::format(
        "Nobody can listen for Wyoming at {}, port {}: it is taken or the address is not this "
        "machine's. Choose another with --wyoming-port N.",
        host, port));
  }
  port_ = port_of(listener_.get());
  threads_.start("wyoming", [this] { accept_connections(); });
}

WyomingServer::~WyomingServer() {
  is_closing_ = true;
  threads_.join();
  for (auto& connection : connections_) connection.thread.join();
}

void WyomingServer::accept_connections() {
  while (!is_closing_) {
    remove_ended();
    pollfd file{listener_.get(), POLLIN, 0};
    if (poll(&file, 1, 200) <= 0) continue;
    const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    if (connections_.size() >= kMostConnections) {
      close(socket);
      continue;
    }
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const timeval slowest{.tv_sec = 30, .tv_usec = 0};
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &slowest, sizeof(slowest));
    auto& connection = connections_.emplace_back(OpenFile(socket));
    connection.thread = std::thread([this, &connection] {
      try {
        Conversation(*this, connection.socket.get()).run();
      } catch (const std::exception& error) {  // of this connection alone, which is closed
        log_debug("wyoming", "a connection ended: {}", error.what());
      }
      shutdown(connection.socket.get(), SHUT_RDWR);
      connection.has_ended = true;
    });
  }
}

void WyomingServer::remove_ended() {
  std::erase_if(connections_, [](Connection& connection) {
    if (connection.has_ended) connection.thread.join();
    return !connection.thread.joinable();
  });
}

}  // namespace myxtts
