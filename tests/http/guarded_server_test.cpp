// SPDX-License-Identifier: Apache-2.0
//
// Attempts of strangers on a server that listens, and what they are answered.
#include "http/guarded_server.h"

#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "support/http_client.h"

namespace myxtts::guarded_server_test {
namespace {

using namespace std::chrono_literals;
using test::HttpReply;
using test::HttpTalk;

constexpr std::size_t kLargestBody = 10'000;
constexpr std::size_t kManyBytes = 30'000'000;  // more than sockets hold

// A server with an address that takes a body, and one that gives a long answer.
class Guarded : public testing::Test {
 protected:
  void start(std::vector<std::string> keys = {}, Pace pace = {}, std::size_t connections = 4) {
    server_.emplace(
        ListenOptions{.access = {.keys = std::move(keys),
                                 .hosts = {"localhost"},
                                 .origins = {"http://friend.example"}},
                      .connections = connections,
                      .pace = pace},
        ServerTraits{
            .name = "test", .help = "POST /size has a size.", .largest_body = kLargestBody});
    Routes routes = server_->routes();
    routes.post_body("/size", [](const std::string& body, httplib::Response& response) {
      answer_json(response, {{"size", body.size()}});
    });
    routes.get("/long", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(std::string(kManyBytes, 'x'), "text/plain");
    });
    port_ = server_->listen();
    thread_ = std::thread([this] { server_->serve(); });
  }

  ~Guarded() override {
    if (!server_) return;
    server_->stop();
    thread_.join();
  }

  static std::string request(const std::string& line, const std::string& headers = {},
                             const std::string& body = {}) {
    return line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  HttpReply send(const std::string& bytes) const {
    const HttpTalk client(port_);
    client.send(bytes);
    return client.read_answer();
  }

  bool answers() const { return send(request("POST /size", {}, "abc")).body == "{\"size\":3}\n"; }

  std::optional<GuardedServer> server_;
  int port_ = 0;
  std::thread thread_;
};

struct Attempt {
  const char* what;
  std::string bytes;
  int status;
  const char* words;
};

TEST_F(Guarded, EveryAttemptOfAStrangerIsTurnedAwayWithASentence) {
  start({"secret"}, {.one_read = 1s});
  const std::string key = "Authorization: Bearer secret\r\n";
  const auto named = [](const std::string& host) {
    return "GET /long HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  };
  const Attempt attempts[] = {
      {"no key", request("GET /long"), 401, "key"},
      {"a wrong key", request("GET /long", "Authorization: Bearer secre\r\n"), 401, "key"},
      {"another kind of key", request("GET /long", "Authorization: Basic secret\r\n"), 401, "key"},
      {"a forged host", named("evil.example"), 403, "127.0.0.1"},
      {"a forged host with our name in it", named("localhost.evil.example"), 403, "127.0.0.1"},
      {"another site", request("GET /long", key + "Origin: http://evil.example\r\n"), 403,
       "--allow-origin"},
      {"another site without its name",
       request("GET /long", key + "Sec-Fetch-Site: cross-site\r\n"), 403, "site"},
      {"a path upwards", request("GET /../../etc/passwd", key), 404, "nothing at this address"},
      {"a path upwards, written otherwise", request("GET /%2e%2e%2f%2e%2e%2fetc/passwd", key), 404,
       "nothing at this address"},
      {"a huge body", request("POST /size", key, std::string(kLargestBody + 1, 'x')), 413,
       "too large"},
      {"a body said to be huge",
       "POST /size HTTP/1.1\r\nHost: localhost\r\n" + key +
           "Content-Length: 99999999999999\r\n\r\n",
       413, "too large"},
      {"a compressed body", request("POST /size", key + "Content-Encoding: gzip\r\n", "x"), 415,
       "uncompressed"},
      {"a long address", request("GET /" + std::string(2'000, 'x'), key), 431, "too long"},
      {"a form where there is none",
       request("POST /size", key + "Content-Type: multipart/form-data; boundary=b\r\n",
               "--b--\r\n"),
       415, "JSON"},
      {"no request", "nonsense\r\n\r\n", 400, "cannot be understood"},
  };
  for (const Attempt& attempt : attempts) {
    const HttpReply answer = send(attempt.bytes);
    EXPECT_EQ(answer.status, attempt.status) << attempt.what << ": " << answer.body;
    EXPECT_NE(answer.body.find(attempt.words), std::string::npos) << attempt.what << answer.body;
  }
  EXPECT_EQ(send(request("GET /long", key + "Origin: http://friend.example\r\n")).status, 200);
  EXPECT_EQ(send(request("GET /long", key)).body.size(), kManyBytes);
}

TEST_F(Guarded, ARequestThatComesByteByByteIsGivenUpAndItsThreadIsFree) {
  start({}, {.whole = 200ms, .read_rate = 1'000'000}, 2);
  const std::string whole = request("POST /size", "X: " + std::string(5'000, 'x') + "\r\n", "abc");
  for (int i = 0; i < 2; ++i) {
    const HttpTalk client(port_);
    for (std::size_t at = 0; at < whole.size() && !client.has_answer_or_end(2ms); ++at) {
      client.send(whole.substr(at, 1));
    }
    EXPECT_NE(client.read_answer().status, 200);
  }
  EXPECT_TRUE(answers());
}

TEST_F(Guarded, AReaderThatTakesNothingIsGivenUp) {
  start({}, {.one_write = 200ms}, 2);
  const HttpTalk first(port_);
  const HttpTalk second(port_);
  first.send(request("GET /long"));
  second.send(request("GET /long"));
  EXPECT_TRUE(answers());  // so one of two threads is free again
  std::this_thread::sleep_for(1s);
  EXPECT_LT(first.read_answer().body.size(), kManyBytes);
}

// Reads a long answer, a piece every `pause`; how much of it came.
std::size_t read_slowly(const HttpTalk& client, std::size_t piece,
                        std::chrono::milliseconds pause) {
  std::size_t count = 0;
  std::size_t rest = piece;
  for (auto some = client.read_some(); !some.empty(); some = client.read_some()) {
    count += some.size();
    if (some.size() < rest) {
      rest -= some.size();
      continue;
    }
    rest = piece;
    std::this_thread::sleep_for(pause);
  }
  return count;
}

TEST_F(Guarded, AReaderThatTakesALittleNowAndThenIsGivenUp) {
  start({}, {.whole = 200ms, .write_rate = 1'000'000'000});
  const HttpTalk client(port_);
  client.send(request("GET /long"));
  EXPECT_LT(read_slowly(client, 60'000, 10ms), kManyBytes);
}

// It is how fast the bytes go that counts, not for how long.
TEST_F(Guarded, ASlowReaderWhoKeepsThePaceGetsAll) {
  start({}, {.whole = 50ms, .write_rate = 1'000'000});
  const HttpTalk client(port_);
  client.send(request("GET /long"));
  EXPECT_GT(read_slowly(client, 1'000'000, 20ms), kManyBytes);
}

TEST_F(Guarded, ManyRequestsOfOneConnectionAreAnsweredInOrder) {
  start();
  const HttpTalk client(port_);
  std::string all;
  for (int i = 1; i <= 5; ++i) {
    all += "POST /size HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(i) +
           (i == 5 ? "\r\nConnection: close" : "") + "\r\n\r\n" +
           std::string(static_cast<std::size_t>(i), 'x');
  }
  client.send(all);
  std::string answers;
  for (auto some = client.read_some(); !some.empty(); some = client.read_some()) answers += some;
  std::size_t at = 0;
  for (int i = 1; i <= 5; ++i) {
    at = answers.find("{\"size\":" + std::to_string(i) + "}", at);
    ASSERT_NE(at, std::string::npos) << i << answers;
  }
}

// Bytes changed, doubled, removed; what lacks its end is not waited for, as nothing more can come.
TEST_F(Guarded, SurvivesTenThousandMutatedRequests) {
  start();
  std::mt19937 random(11);
  const std::string seeds[] = {
      request("POST /size", "Content-Type: application/json\r\n", R"({"a": [1, 2, {"b": "c"}]})"),
      request("GET /health?x=%20%zz&y=1#z", "Range: bytes=0-10,20-30\r\nAccept: */*\r\n"),
      request("POST /size", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
      request("POST /size", "Content-Type: multipart/form-data; boundary=b\r\n",
              "--b\r\nContent-Disposition: form-data; name=\"a\"; "
              "filename=\"b\"\r\n\r\nc\r\n--b--\r\n"),
      request("HEAD /health", "Expect: 100-continue\r\nAuthorization: Bearer x\r\n")};
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes = seeds[random() % std::size(seeds)];
    for (auto changes = 1 + random() % 6; changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        case 2:
          bytes.insert(at, bytes.substr(at, 1 + random() % 40));
          break;
        default:
          bytes.resize(at);
          break;
      }
    }
    const HttpTalk client(port_);
    client.send(bytes);
    client.end();
    while (!client.read_some().empty()) continue;
  }
  EXPECT_TRUE(answers());
}

}  // namespace
}  // namespace myxtts::guarded_server_test
