// SPDX-License-Identifier: Apache-2.0
#include "serve/remote_speech.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/message_text.h"
#include "config/json.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

constexpr time_t kConnectSeconds = 10;
constexpr time_t kLongestWait = 600;  // for a place in its queue
constexpr std::int64_t kUsualRate = 24000;
constexpr std::size_t kLongestMessage = 10'000;

std::string body_of(const SpeechOrder& order) {
  Json body = {{"input", order.text},
               {"voice", order.voice},
               {"response_format", "pcm"},
               {"speed", order.speed}};
  const auto put = [&body](const char* name, const auto& value) {
    if (value) body[name] = *value;
  };
  if (!order.model.empty()) body["model"] = order.model;
  if (!order.language.empty()) body["language"] = order.language;
  put("temperature", order.sampling.temperature);
  put("top_k", order.sampling.top_k);
  put("top_p", order.sampling.top_p);
  put("repetition_penalty", order.sampling.repetition_penalty);
  put("seed", order.sampling.seed);
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// "audio/pcm;rate=24000".
std::int64_t rate_in(const std::string& type) {
  const auto at = type.find("rate=");
  if (at == std::string::npos) return kUsualRate;
  const long long rate = std::strtoll(type.c_str() + at + 5, nullptr, 10);
  return rate >= 8000 && rate <= 192'000 ? rate : kUsualRate;
}

std::string message_in(const std::string& body, int status) {
  const Json json = parse_shallow_json<Json>(body);
  if (json.is_object() && json.contains("error") && json["error"].is_object() &&
      json["error"].contains("message") && json["error"]["message"].is_string()) {
    return json["error"]["message"].get<std::string>();
  }
  return fmt::format("it answers with status {}.", status);
}

// Whole samples of the bytes, of which the last one may be half there.
std::vector<float> samples_in(std::string& bytes) {
  std::vector<float> samples(bytes.size() / 2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::int16_t value = 0;
    std::memcpy(&value, bytes.data() + 2 * i, sizeof(value));
    samples[i] = static_cast<float>(value) / 32768.0F;
  }
  bytes.erase(0, samples.size() * 2);
  return samples;
}

}  // namespace

bool speak_remotely(const std::string& url, const std::string& key, const SpeechOrder& order,
                    const OnRemoteSound& on_sound) {
  httplib::Client client(url);
  if (!client.is_valid()) {
    throw ConfigError(fmt::format(
        "--server {} is no address of a server; it looks like http://127.0.0.1:8020.", url));
  }
  client.set_connection_timeout(kConnectSeconds);
  client.set_read_timeout(kLongestWait);
  if (!key.empty()) client.set_bearer_token_auth(key);

  int status = 0;
  std::int64_t rate = kUsualRate;
  std::string refusal;
  std::string bytes;
  bool is_wanted = true;
  httplib::Request request;
  request.method = "POST";
  request.path = "/v1/audio/speech";
  request.set_header("Content-Type", "application/json");
  request.body = body_of(order);
  request.response_handler = [&](const httplib::Response& response) {
    status = response.status;
    rate = rate_in(response.get_header_value("Content-Type"));
    return true;
  };
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (status != 200) {
      refusal.append(data,
                     std::min(size, kLongestMessage - std::min(kLongestMessage, refusal.size())));
      return true;
    }
    bytes.append(data, size);
    is_wanted = on_sound(samples_in(bytes), rate);
    return is_wanted;
  };
  const auto result = client.send(request);
  if (status != 0 && status != 200) {
    throw DataError(
        fmt::format("The server {} refuses: {}", url, printable(message_in(refusal, status))));
  }
  if (!is_wanted) return false;
  if (result) return true;
  throw DataError(
      status == 0
          ? fmt::format("No server answers at {}; start one with myxtts serve --model MODEL "
                        "--voices DIR, or name another with --server URL.",
                        url)
          : fmt::format("The server {} broke off in the middle of a text; its log says why.", url));
}

}  // namespace myxtts
