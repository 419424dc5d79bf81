// SPDX-License-Identifier: Apache-2.0
#include "serve/wyoming_event.h"

#include <random>

#include <gtest/gtest.h>

#include "http/request_error.h"

namespace myxtts::wyoming_event_test {
namespace {

TEST(WyomingReader, GivesBackWhatWasPrintedHoweverItsBytesCome) {
  const std::vector<WyomingEvent> events = {
      {.type = "describe"},
      {.type = "synthesize", .data = {{"text", "Hi."}, {"voice", {{"name", "anna"}}}}},
      {.type = "audio-chunk", .data = {{"rate", 24000}}, .payload = std::string("\n{\0}\n", 5)}};
  std::string bytes;
  for (const auto& event : events) bytes += print_event(event);
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    WyomingReader reader;
    std::vector<WyomingEvent> found;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.add(std::string_view(bytes).substr(at, step));
      while (auto event = reader.next()) found.push_back(std::move(*event));
    }
    ASSERT_EQ(found.size(), events.size()) << step;
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(found[i].type, events[i].type);
      EXPECT_EQ(found[i].data, events[i].data);
      EXPECT_EQ(found[i].payload, events[i].payload);
    }
  }
}

TEST(WyomingReader, TakesDataOfTheLineAndOfItsOwnPartTogether) {
  WyomingReader reader;
  reader.add("{\"type\":\"x\",\"data\":{\"a\":1,\"b\":1},\"data_length\":7}\n{\"b\":2}");
  EXPECT_EQ(reader.next()->data, (nlohmann::json{{"a", 1}, {"b", 2}}));
}

TEST(WyomingReader, RefusesWhatIsNoEventOrTooLarge) {
  for (const std::string& bytes :
       {std::string("hello\n"), std::string("[]\n"), std::string("{}\n"),
        std::string("{\"type\":3}\n"), std::string("{\"type\":\"x\",\"data_length\":-1}\n"),
        std::string("{\"type\":\"x\",\"payload_length\":99999999999}\n"),
        std::string("{\"type\":\"x\",\"data_length\":2}\n[]"), std::string(70'000, 'x')}) {
    WyomingReader reader;
    reader.add(bytes);
    EXPECT_THROW(reader.next(), RequestError) << bytes.substr(0, 60);
  }
}

// Whatever comes, the reader takes it, waits or refuses it.
TEST(WyomingReader, SurvivesMutatedBytes) {
  const std::string good = print_event({.type = "synthesize", .data = {{"text", "Hello."}}});
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good + good;
    for (auto n = 1 + random() % 4; n > 0; --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    WyomingReader reader;
    reader.add(bytes);
    try {
      while (reader.next()) {
      }
    } catch (const RequestError&) {
      continue;
    }
  }
}

TEST(SentenceCollector, HandsOutWholeSentencesAndTheRestAtTheEnd) {
  SentenceCollector sentences;
  EXPECT_EQ(sentences.add("Hello"), "");
  EXPECT_EQ(sentences.add(" there. How"), "Hello there.");
  EXPECT_EQ(sentences.add(" are you? I am"), " How are you?");
  EXPECT_EQ(sentences.add(" 3.5\nyears"), " I am 3.5\n");
  EXPECT_EQ(sentences.add(" old؟ خوب"), "years old؟");
  EXPECT_EQ(sentences.rest(), " خوب");
  EXPECT_EQ(sentences.rest(), "");
}

}  // namespace
}  // namespace myxtts::wyoming_event_test
