// SPDX-License-Identifier: Apache-2.0
#include "synth/speech_queue.h"

#include <atomic>
#include <random>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "text/tokenizer.h"

namespace myxtts::speech_queue_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPlaces = 3;

SpeakingModel model_that_stops(const std::filesystem::path& folder) {
  test::write_tiny_model(folder);
  SpeakingModel model = open_speaking_model(folder);
  // Copies: the file's own pages are not ours to write.
  auto& bias = model.tensors.at("gpt.mel_head.bias");
  bias = bias.clone();
  bias[model.config.gpt.stop_audio] = bias.max() + 4.5;
  return model;
}

class Queue : public testing::Test {
 protected:
  SpeechRequest request(int number) const {
    const TextEncoder encoder(model_.vocabulary, parse_language("en"));
    const std::string text = number % 3 == 0 ? "One. " : "A first sentence. And another one. ";
    SpeechRequest request{.text = {.pieces = text_pieces(text + std::to_string(number),
                                                         parse_language("en"), encoder, 12)},
                          .voices = voices_[static_cast<std::size_t>(number) % voices_.size()],
                          .settings = {.sampling = {.seed = static_cast<std::uint64_t>(number)},
                                       .speed = number % 4 == 0 ? 1.3 : 1.0},
                          .chunk_codes = 5 + number % 3};
    if (number % 6 == 1) ask_for_more(request);
    return request;
  }

  // Silence, and another voice and speed for the last piece.
  void ask_for_more(SpeechRequest& request) const {
    request.voices.by_name.emplace("other", voices_.front());
    request.text.pieces.front().pause_ms = 30;
    request.text.pieces.back().pause_ms = 50;
    request.text.pieces.back().voice = "other";
    request.text.pieces.back().rate = 0.8;
    request.text.pause_ms = 70;
  }

  // As the command line streams it.
  std::vector<float> alone(const SpeechRequest& request) const {
    Synthesizer synthesizer(model_, c10::kCPU, 1);
    std::vector<float> all;
    const auto be_silent = [&](std::int64_t ms) {
      all.resize(all.size() + static_cast<std::size_t>(synthesizer.sample_rate() * ms / 1000));
    };
    for (std::size_t piece = 0; piece < request.text.pieces.size(); ++piece) {
      be_silent(request.text.pieces[piece].pause_ms);
      bool starts = true;
      synthesizer.stream(request.text.pieces[piece], request.voices, request.settings,
                         request.chunk_codes, [&](std::span<const float> samples, bool is_last) {
                           std::vector<float> sound(samples.begin(), samples.end());
                           fade_seams(sound, piece, request.text.pieces.size(),
                                      synthesizer.sample_rate(),
                                      {.starts = starts, .ends = is_last});
                           starts = starts && sound.empty();
                           all.insert(all.end(), sound.begin(), sound.end());
                           return true;
                         });
    }
    be_silent(request.text.pause_ms);
    return all;
  }

  static std::vector<float> heard(Speech& speech) {
    std::vector<float> all;
    while (const auto part = speech.next(60s)) {
      if (part->empty()) return all;
      all.insert(all.end(), part->begin(), part->end());
    }
    ADD_FAILURE() << "nothing came in a minute";
    return all;
  }

  test::TemporaryFolder folder_;
  SpeakingModel model_ = model_that_stops(folder_ / "model");
  std::vector<Voice> voices_ = {
      {at::randn({32, model_.config.gpt.width}), at::randn({model_.config.decoder.speaker_dim})},
      {at::randn({32, model_.config.gpt.width}), at::randn({model_.config.decoder.speaker_dim})}};
};

TEST_F(Queue, WhatIsSaidDependsOnNobodyElse) {
  constexpr int kRequests = 24;
  Synthesizer synthesizer(model_, c10::kCPU, kPlaces);
  SpeechQueue queue(synthesizer, kRequests);
  std::vector<std::shared_ptr<Speech>> speeches;
  for (int i = 0; i < kRequests; ++i) {
    speeches.push_back(queue.say(request(i)));
    ASSERT_TRUE(speeches.back());
    if (i % 5 == 4) speeches.back()->cancel();
    if (i % 7 == 6) std::this_thread::sleep_for(5ms);
  }
  int with_sound = 0;
  for (int i = 0; i < kRequests; ++i) {
    if (i % 5 == 4) continue;
    const auto samples = heard(*speeches[static_cast<std::size_t>(i)]);
    with_sound += samples.empty() ? 0 : 1;
    EXPECT_TRUE(samples == alone(request(i))) << "request " << i;
  }
  EXPECT_GE(with_sound, kRequests / 2);  // some stop at once
  EXPECT_TRUE(queue.wait_until_idle(60s));
  EXPECT_EQ(queue.load().used, 0U);
}

TEST_F(Queue, RefusesMoreThanMayWaitAndTakesOthersAsSoonAsThereIsRoom) {
  Synthesizer synthesizer(model_, c10::kCPU, 1);
  SpeechQueue queue(synthesizer, 1);
  std::vector<std::shared_ptr<Speech>> taken;
  while (const auto speech = queue.say(request(1))) {
    taken.push_back(speech);
    ASSERT_LE(taken.size(),
              3U);  // one speaks, one waits; a third can slip in before the thread runs
  }
  EXPECT_GE(taken.size(), 2U);
  for (const auto& speech : taken) heard(*speech);
  EXPECT_TRUE(queue.wait_until_idle(60s));
  EXPECT_TRUE(queue.say(request(2)));
}

TEST_F(Queue, AReaderThatLeavesFreesItsPlaceForWhoWaits) {
  model_.tensors.at("gpt.mel_head.bias")[model_.config.gpt.stop_audio] = -1e3;  // never stops
  Synthesizer synthesizer(model_, c10::kCPU, 1);
  SpeechQueue queue(synthesizer, 4);
  const auto first = queue.say(request(1));
  const auto second = queue.say(request(2));
  ASSERT_TRUE(first->next(60s));
  EXPECT_EQ(second->next(0ms), std::nullopt);
  first->cancel();
  EXPECT_TRUE(second->next(60s));
  second->cancel();
  EXPECT_TRUE(queue.wait_until_idle(60s));
}

TEST_F(Queue, ATextThatCannotBeSpokenFailsAlone) {
  Synthesizer synthesizer(model_, c10::kCPU, kPlaces);
  auto too_long = request(1);
  too_long.text.pieces.front().ids.assign(1000, 5);
  SpeechQueue queue(synthesizer, 8);
  const auto bad = queue.say(too_long);
  const auto good = queue.say(request(3));
  EXPECT_THROW(heard(*bad), DataError);
  EXPECT_TRUE(heard(*good) == alone(request(3)));
}

TEST_F(Queue, ItsEndFailsWhatIsStillSpoken) {
  model_.tensors.at("gpt.mel_head.bias")[model_.config.gpt.stop_audio] = -1e3;  // never stops
  auto endless = request(4);
  endless.text.pieces.resize(1000, endless.text.pieces.front());
  Synthesizer synthesizer(model_, c10::kCPU, 1);
  std::shared_ptr<Speech> left;
  {
    SpeechQueue queue(synthesizer, 8);
    left = queue.say(endless);
    ASSERT_TRUE(left->next(60s));
  }
  EXPECT_THROW(heard(*left), DeviceError);
}

}  // namespace
}  // namespace myxtts::speech_queue_test
