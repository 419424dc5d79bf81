// SPDX-License-Identifier: Apache-2.0
#include "serve/speech_order.h"

#include <random>

#include <gtest/gtest.h>

#include "http/request_error.h"

namespace myxtts::speech_order_test {
namespace {

constexpr std::size_t kMost = 100;

TEST(OpenAiOrder, HasEveryFieldAndTheirDefaults) {
  const auto plain = parse_openai_order(R"({"model":"m","input":"Hi.","voice":"anna"})", kMost);
  EXPECT_EQ(plain.model, "m");
  EXPECT_EQ(plain.text, "Hi.");
  EXPECT_EQ(plain.voice, "anna");
  EXPECT_EQ(plain.format, SoundFormat::Mp3);
  EXPECT_EQ(plain.speed, 1.0);
  EXPECT_FALSE(plain.as_events);
  EXPECT_TRUE(plain.ignored.empty());
  const auto full = parse_openai_order(
      R"({"input":"Hi.","voice":{"id":"bob"},"response_format":"opus","speed":0.25,
          "stream_format":"sse","instructions":"kindly","language":"de","seed":18446744073709551615,
          "temperature":0.5,"top_k":3,"top_p":0.5,"repetition_penalty":2,"model":null})",
      kMost);
  EXPECT_EQ(full.voice, "bob");
  EXPECT_EQ(full.format, SoundFormat::Opus);
  EXPECT_EQ(full.speed, 0.25);
  EXPECT_TRUE(full.as_events);
  EXPECT_EQ(full.ignored, std::vector<std::string>{"instructions"});
  const auto sampling = sampling_of(full.sampling, {});
  EXPECT_EQ(sampling.seed, 18446744073709551615U);
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.top_k, 3);
  EXPECT_EQ(sampling.top_p, 0.5);
  EXPECT_EQ(sampling.repetition_penalty, 2.0);
}

struct BadOrder {
  std::string body;
  int status;
  std::string field;
};

class BadOrders : public testing::TestWithParam<BadOrder> {};

TEST_P(BadOrders, AreRefusedWithTheirField) {
  try {
    parse_openai_order(GetParam().body, kMost);
    FAIL() << "accepted";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), GetParam().status);
    EXPECT_EQ(error.field(), GetParam().field);
    EXPECT_FALSE(std::string(error.what()).empty());
  }
}

std::string with(const std::string& more) {
  return R"({"input":"Hi.","voice":"a",)" + more + "}";
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOrders,
    testing::Values(
        BadOrder{"", 400, ""}, BadOrder{"[]", 400, ""}, BadOrder{"{", 400, ""},
        BadOrder{std::string(100'000, '['), 400, ""}, BadOrder{R"({"voice":"a"})", 400, "input"},
        BadOrder{R"({"voice":"a","input":"  "})", 400, "input"},
        BadOrder{R"({"voice":"a","input":3})", 400, "input"},
        BadOrder{R"({"voice":"a","input":")" + std::string(101, 'x') + R"("})", 413, "input"},
        BadOrder{R"({"input":"Hi."})", 400, "voice"},
        BadOrder{R"({"input":"Hi.","voice":{"name":"a"}})", 400, "voice"},
        BadOrder{with(R"("response_format":"exe")"), 400, "response_format"},
        BadOrder{with(R"("stream_format":"x")"), 400, "stream_format"},
        BadOrder{with(R"("speed":5)"), 400, "speed"},
        BadOrder{with(R"("speed":"fast")"), 400, "speed"},
        BadOrder{with(R"("top_k":1.5)"), 400, "top_k"}, BadOrder{with(R"("seed":-1)"), 400, "seed"},
        BadOrder{with(R"("temperature":0)"), 400, ""}, BadOrder{with(R"("top_p":7)"), 400, ""}));

// Whatever is sent, it is an order or refused.
TEST(OpenAiOrder, SurvivesTenThousandMutatedBodies) {
  const std::string good =
      R"({"input":"Hi – سلام.","voice":{"id":"bob"},"response_format":"opus","speed":0.25,"seed":7,"top_k":3})";
  std::mt19937 random(11);
  int orders = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string body = good;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % body.size();
      if (random() % 3 == 0) {
        body.erase(at, 1 + random() % 5);
      } else {
        body[at] = static_cast<char>(random());
      }
    }
    for (const bool is_openai : {true, false}) {
      try {
        const auto order =
            is_openai ? parse_openai_order(body, kMost) : parse_xtts_order(body, {}, kMost);
        sampling_of(order.sampling, {});
        ++orders;
      } catch (const RequestError& error) {
        EXPECT_GE(error.status(), 400);
      }
    }
  }
  EXPECT_GT(orders, 100);
}

TEST(XttsOrder, TakesTheSettingsOfBeforeAsNumbersAndAsTexts) {
  const auto settings = parse_xtts_settings(
      R"({"temperature":"0.5","speed":1.5,"top_k":"7","stream_chunk_size":100})", {});
  EXPECT_EQ(settings.temperature, 0.5);
  EXPECT_EQ(settings.top_k, 7);
  EXPECT_EQ(settings.repetition_penalty, 5.0);
  const auto order =
      parse_xtts_order(R"({"text":"Hi.","speaker_wav":"a.wav","language":"en"})", settings, kMost);
  EXPECT_EQ(order.format, SoundFormat::Wav);
  EXPECT_EQ(order.speed, 1.5);
  EXPECT_EQ(order.chunk_codes, 100);
  EXPECT_EQ(sampling_of(order.sampling, {}).temperature, 0.5);
  EXPECT_THROW(parse_xtts_settings(R"({"speed":"1.5x"})", {}), RequestError);
  EXPECT_THROW(parse_xtts_settings(R"({"speed":99})", {}), RequestError);
  EXPECT_THROW(parse_xtts_order(R"({"speaker_wav":"a"})", settings, kMost), RequestError);
}

}  // namespace
}  // namespace myxtts::speech_order_test
