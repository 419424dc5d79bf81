// SPDX-License-Identifier: Apache-2.0
// A whole request to serve, as it comes over a connection: head, form or body, and who may ask.
// The library reads it as in serve/http_server.cpp; what the routes read of it is read here.
#include <string>

#include <httplib.h>

#include "config/json.h"
#include "fuzz/fuzz_input.h"
#include "http/access.h"
#include "serve/speech_order.h"
#include "serve/voice_store.h"

namespace {

using namespace myxtts;
using httplib::Request;
using httplib::Response;

constexpr std::size_t kMostText = 1000;

class InputStream final : public httplib::Stream {
 public:
  explicit InputStream(std::string_view bytes) : rest_(bytes) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t count = rest_.copy(to, size);
    rest_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char*, std::size_t size) override { return static_cast<ssize_t>(size); }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "127.0.0.1";
    port = 1;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    get_remote_ip_and_port(ip, port);
  }
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view rest_;
};

class RequestReader final : public httplib::Server {
 public:
  RequestReader() {
    set_payload_max_length(1 << 20);
    set_pre_routing_handler([this](const Request& request, Response&) {
      const auto refusal =
          access_.check({.path = request.path,
                         .address = request.remote_addr,
                         .authorization = request.get_header_value("Authorization"),
                         .host = request.get_header_value("Host"),
                         .origin = request.get_header_value("Origin"),
                         .fetch_site = request.get_header_value("Sec-Fetch-Site")});
      return refusal ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    Post("/v1/audio/speech", [](const Request&, Response&, const httplib::ContentReader& reader) {
      std::string body;
      reader([&body](const char* data, std::size_t size) {
        body.append(data, size);
        return true;
      });
      fuzz::parse([&] { parse_openai_order(body, kMostText); });
    });
    Post("/v1/audio/voices", [](const Request& request, Response&) {
      if (!request.is_multipart_form_data()) return;
      fuzz::parse([&] {
        check_voice_name(request.has_file("name") ? request.get_file_value("name").content : "");
      });
    });
    Patch("/v1/audio/voices/([^/]+)", [](const Request& request, Response&) {
      parse_shallow_json<nlohmann::json>(request.body);
      fuzz::parse([&] { check_voice_name(request.matches[1]); });
    });
  }

  void read(std::string_view bytes) {
    InputStream stream(bytes);
    bool is_closed = false;
    process_request(stream, true, is_closed, nullptr);
  }

 private:
  Access access_{{.keys = {}, .hosts = {"localhost"}, .origins = {"https://example.org"}}};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static RequestReader reader;
  reader.read(fuzz::text_of(data, size));
  return 0;
}
