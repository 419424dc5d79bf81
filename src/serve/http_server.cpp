// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "audio/sound_encoder.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {

// The page at /, made of the files in page/ when the program is built.
extern const std::string_view kServerPage;

namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t kLargestBody = 40'000'000;  // voices come in it
constexpr std::chrono::milliseconds kLookAgain{5};

ServerTraits traits_of(RouteContext& context) {
  return {.name = "serve",
          .help = "GET / has a page, and POST /v1/audio/speech speaks.",
          .largest_body = kLargestBody,
          .shape_of =
              [](std::string_view path) {
                return path.starts_with("/v1/") ? ErrorShape::OpenAi : ErrorShape::Detail;
              },
          .answered = [&context](int status) { context.metrics.add_answer(status); },
          .open_while_draining = "/metrics"};
}

}  // namespace

HttpServer::HttpServer(SpeechService& service, HttpOptions options)
    : context_{.service = service, .options = std::move(options)},
      server_(context_.options.listen, traits_of(context_)) {
  add_own_routes();
  add_openai_routes(server_.routes(ErrorShape::OpenAi), context_);
  add_xtts_routes(server_.routes(), context_);
  port_ = server_.listen();
}

void HttpServer::add_own_routes() {
  Routes routes = server_.routes();
  routes.get("/", [](const Request&, Response& response) { answer_page(response, kServerPage); });
  routes.get("/ready", [this](const Request&, Response& response) {
    if (server_.is_draining()) return answer_json(response, {{"status", "ending"}}, 503);
    answer_json(response, {{"status", "ready"}});
  });
  routes.get("/metrics", [this](const Request&, Response& response) {
    response.set_content(context_.metrics.text(context_.service.state()),
                         "text/plain; version=0.0.4; charset=utf-8");
  });
}

// What is spoken, and then what is still on its way to a client: the server drops connections when
// it stops.
void HttpServer::stop() {
  server_.drain();
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(context_.options.drain);
  const auto end = std::chrono::steady_clock::now() + limit;
  bool is_sent = context_.service.models().wait_until_idle(limit);
  while (is_sent && context_.answers > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookAgain);
  }
  is_sent = is_sent && context_.answers == 0;
  if (!is_sent) {
    log_warning("serve", "what was not sent after {} is cut off", human_duration(limit));
  }
  server_.stop();
}

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

std::string event(const Json& json) {
  return "data: " + json.dump() + "\n\n";
}

// Counts while it lives.
class CountedAnswer {
 public:
  explicit CountedAnswer(std::atomic<int>& count) : count_(count) { ++count_; }
  CountedAnswer(const CountedAnswer&) = delete;
  CountedAnswer& operator=(const CountedAnswer&) = delete;
  ~CountedAnswer() { --count_; }

 private:
  std::atomic<int>& count_;
};

// One answer on its way: takes sound from the queue, encodes it and writes it to the client.
class SpeechAnswer {
 public:
  SpeechAnswer(StartedSpeech started, const SpeechOrder& order, Delivery delivery,
               RouteContext& context)
      : started_(std::move(started)),
        encoder_(make_sound_encoder(order.format, started_.model->sample_rate())),
        as_events_(order.as_events),
        delivery_(delivery),
        metrics_(context.metrics),
        counted_(context.answers) {}

  // Waits until there is something to send: what fails before is an answer of its own, with a
  // status, which nothing can be once the header is on its way.
  void wait_for_first_sound() {
    while (!first_) first_ = started_.speech->next(kSoundWait);
  }

  // The next part. False: the connection is given up.
  bool send_next(httplib::DataSink& sink) {
    try {
      const auto samples =
          first_ ? std::exchange(first_, std::nullopt) : started_.speech->next(kSoundWait);
      if (!samples) return sink.is_writable();
      if (samples->empty()) return end(sink);
      measure(samples->size());
      if (delivery_ == Delivery::Streamed) return write(sink, encoder_->add(*samples));
      all_.insert(all_.end(), samples->begin(), samples->end());
      return sink.is_writable();
    } catch (const std::exception& error) {  // the answer has begun: it can only be broken off
      log_error("serve", "an answer was broken off: {}", error.what());
      return false;
    }
  }

  // However it ended.
  void leave() {
    if (!is_whole_) metrics_.add_disconnect();
    started_.speech->cancel();
  }

 private:
  bool write(httplib::DataSink& sink, const std::string& bytes) const {
    if (bytes.empty()) return true;
    const std::string text =
        as_events_ ? event({{"type", "speech.audio.delta"}, {"audio", base64(bytes)}}) : bytes;
    return sink.write(text.data(), text.size());
  }

  bool end(httplib::DataSink& sink) {
    const bool is_whole = delivery_ == Delivery::Whole;
    if (!write(sink, is_whole ? wav_of(all_, started_.model->sample_rate()) : encoder_->finish())) {
      return false;
    }
    if (as_events_) {
      const auto codes = started_.speech->codes();
      const std::string last = event({{"type", "speech.audio.done"},
                                      {"usage",
                                       {{"input_tokens", started_.text_tokens},
                                        {"output_tokens", codes},
                                        {"total_tokens", started_.text_tokens + codes}}}});
      if (!sink.write(last.data(), last.size())) return false;
    }
    is_whole_ = true;
    sink.done();
    return true;
  }

  void measure(std::size_t samples) {
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    if (has_sound_) {
      metrics_.add_gap(seconds);
    } else {
      metrics_.add_first_sound(seconds);
    }
    metrics_.add_sound(static_cast<double>(samples) /
                       static_cast<double>(started_.model->sample_rate()));
    has_sound_ = true;
    last_ = now;
  }

  StartedSpeech started_;
  std::optional<std::vector<float>> first_;  // the sound that was waited for
  std::unique_ptr<SoundEncoder> encoder_;
  bool as_events_;
  Delivery delivery_;
  std::vector<float> all_;  // where it is sent whole
  ServerMetrics& metrics_;
  CountedAnswer counted_;
  Clock::time_point last_ = Clock::now();
  bool has_sound_ = false;
  bool is_whole_ = false;
};

void log_order(const SpeechOrder& order, const RouteContext& context) {
  if (!context.options.logs_text) return;
  log_info("serve", "{} says: {}", printable(order.voice), printable(order.text));
}

}  // namespace

void answer_speech(const SpeechOrder& order, RouteContext& context, httplib::Response& response,
                   Delivery delivery) {
  log_order(order, context);
  StartedSpeech started = context.service.say(order);
  const std::string type = order.as_events
                               ? "text/event-stream"
                               : mime_type_of(order.format, started.model->sample_rate());
  response.set_header("X-MyXTTS-Language", started.language);
  for (const auto& field : order.ignored) response.set_header("X-MyXTTS-Ignored", field);
  const auto speech = started.speech;
  std::shared_ptr<SpeechAnswer> answer;
  try {
    answer = std::make_shared<SpeechAnswer>(std::move(started), order, delivery, context);
  } catch (const ConfigError& error) {  // no encoder here
    speech->cancel();
    throw RequestError(400, "format_not_available", error.what(), "response_format");
  }
  try {
    answer->wait_for_first_sound();
  } catch (...) {
    speech->cancel();
    throw;
  }
  response.set_chunked_content_provider(
      type, [answer](std::size_t, httplib::DataSink& sink) { return answer->send_next(sink); },
      [answer](bool) { answer->leave(); });
}

std::string whole_wav(const SpeechOrder& order, RouteContext& context) {
  const CountedAnswer counted(context.answers);
  log_order(order, context);
  const StartedSpeech started = context.service.say(order);
  std::vector<float> all;
  while (true) {
    const auto samples = started.speech->next(kSoundWait);
    if (!samples) continue;
    if (samples->empty()) break;
    all.insert(all.end(), samples->begin(), samples->end());
  }
  context.metrics.add_sound(static_cast<double>(all.size()) /
                            static_cast<double>(started.model->sample_rate()));
  return wav_of(all, started.model->sample_rate());
}

}  // namespace myxtts
