// SPDX-License-Identifier: Apache-2.0
#include "pipeline/autotune.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace myxtts::autotune_test {
namespace {

using std::chrono::seconds;

// A pipeline as its meters would show it, second by second.
struct SimulatedPipeline {
  double decodes_a_second = 10;  // batches that one worker manages
  double most_decodes = 1e9;     // that the disk or the cores manage together
  double wanted = 40;            // batches a second the trainer takes
  double unevenness = 0;         // share of time that a buffer of 1 batch leaves it waiting
  bool plan_is_slow = false;     // the reader never has to wait for a place
  double noise = 0;              // of every rate
  std::size_t workers = 1;
  std::size_t buffer = 4;

  double possible() const {
    return std::min(static_cast<double>(workers) * decodes_a_second, most_decodes);
  }

  void pass_a_second() {
    const double shaken = 1 + noise * (2 * random.uniform(turn++) - 1);
    const double rate = std::min(possible() * shaken, wanted);
    const double uneven = unevenness / static_cast<double>(buffer);
    const double starved = std::max(1 - rate / wanted, uneven);
    const double busy = std::min(1.0, rate / possible());
    const auto time = [](double share) {
      return std::chrono::nanoseconds(static_cast<std::int64_t>(share * 1e9));
    };
    batcher.waiting_for_input += time(starved);
    batcher.waiting_for_output += time(1 - starved);
    reader.waiting_for_output += time(plan_is_slow ? 0 : 1 - busy);
    decoder.busy += time(busy * static_cast<double>(workers));
    decoder.waiting_for_input += time((1 - busy) * static_cast<double>(workers));
    batches += static_cast<std::int64_t>(std::lround(rate * (1 - uneven)));
    now += seconds(1);
  }

  PipelineReading read() const {
    PipelineReading reading;
    reading.batches = batches;
    reading.stages = {{.name = "reader", .load = reader},
                      {.name = "decoder", .workers = workers, .load = decoder},
                      {.name = "batcher", .load = batcher}};
    reading.queues = {{.name = "buffer", .capacity = buffer, .depth = {}}};
    return reading;
  }

  // Gives the seconds in which something was changed.
  std::vector<int> run(Autotune& autotune, int duration) {
    std::vector<int> changes;
    for (int second = 0; second < duration; ++second) {
      pass_a_second();
      const auto decision = autotune.update(read(), now);
      if (!decision) continue;
      EXPECT_FALSE(decision->reason.empty());
      changes.push_back(second);
      if (decision->workers) workers = *decision->workers;
      if (decision->buffer) buffer = *decision->buffer;
    }
    return changes;
  }

  LoadReading reader = {};
  LoadReading batcher = {};
  LoadReading decoder = {};
  std::int64_t batches = 0;
  Clock::Time now = Clock::Time(seconds(1000));
  RandomStream random{1, "noise"};
  std::uint64_t turn = 0;
};

TEST(Autotune, AddsDecodersUntilTheTrainerNoLongerWaits) {
  SimulatedPipeline pipeline;
  Autotune autotune({.most_workers = 16});
  pipeline.run(autotune, 60);
  EXPECT_GE(pipeline.possible(), pipeline.wanted);
  EXPECT_LE(pipeline.workers, 6U) << "4 are enough, and half as many again is one step";
}

TEST(Autotune, NeverGoesBeyondTheMost) {
  SimulatedPipeline pipeline{.wanted = 1000};
  Autotune autotune({.most_workers = 5});
  pipeline.run(autotune, 60);
  EXPECT_EQ(pipeline.workers, 5U);
}

TEST(Autotune, TakesBackWhatDidNotHelp) {
  SimulatedPipeline pipeline{.most_decodes = 20, .wanted = 100, .workers = 2};
  Autotune autotune({.most_workers = 16});
  const auto changes = pipeline.run(autotune, 100);
  EXPECT_EQ(pipeline.workers, 2U) << "the disk gives 20 batches a second, whoever asks";
  EXPECT_EQ(changes.size(), 2U);
}

TEST(Autotune, LeavesAloneWhatIsGoodEnough) {
  SimulatedPipeline pipeline{.wanted = 5};
  Autotune autotune({.most_workers = 16, .tune_buffer = true});
  EXPECT_TRUE(pipeline.run(autotune, 200).empty());
}

TEST(Autotune, EnlargesTheBufferWhereClipsAreUneven) {
  SimulatedPipeline pipeline{.decodes_a_second = 100, .wanted = 20, .unevenness = 0.8};
  Autotune autotune({.most_workers = 16, .tune_buffer = true});
  pipeline.run(autotune, 100);
  EXPECT_GE(pipeline.buffer, 16U);
  EXPECT_LE(pipeline.buffer, 32U);
  EXPECT_EQ(pipeline.workers, 1U);
}

TEST(Autotune, DoesNotEnlargeABufferThatIsNeverFull) {
  SimulatedPipeline pipeline{
      .decodes_a_second = 100, .wanted = 20, .unevenness = 0.8, .plan_is_slow = true};
  Autotune autotune({.most_workers = 16, .tune_buffer = true});
  EXPECT_TRUE(pipeline.run(autotune, 100).empty());
}

TEST(Autotune, DoesNotTouchWhatTheUserHasSet) {
  SimulatedPipeline pipeline{.wanted = 1000, .unevenness = 0.9};
  Autotune autotune({.workers = 16, .most_workers = 16});
  EXPECT_TRUE(pipeline.run(autotune, 200).empty());
}

TEST(Autotune, SettlesAndStaysUnderNoise) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimulatedPipeline pipeline{.decodes_a_second = 3.0 + static_cast<double>(seed % 7),
                               .most_decodes = seed % 3 == 0 ? 17.0 : 1e9,
                               .wanted = 20.0 + static_cast<double>(seed),
                               .unevenness = seed % 2 == 0 ? 0.5 : 0.0,
                               .noise = 0.15};
    pipeline.random = RandomStream(seed, "noise");
    Autotune autotune({.most_workers = 32, .tune_buffer = true});
    const auto changes = pipeline.run(autotune, 1000);
    // From 1 to 32 by halves are 9 steps and one back; the buffer from 4 to 200 takes 6.
    EXPECT_LE(changes.size(), 16U) << seed;
    EXPECT_TRUE(changes.empty() || changes.back() < 100) << seed << ": " << changes.back();
  }
}

TEST(Autotune, ALookThatComesTooEarlyDecidesNothing) {
  SimulatedPipeline pipeline{.wanted = 1000};
  Autotune autotune({.most_workers = 16}, seconds(10));
  pipeline.pass_a_second();
  EXPECT_TRUE(autotune.is_due(0, pipeline.now));
  EXPECT_FALSE(autotune.update(pipeline.read(), pipeline.now).has_value());
  for (int second = 1; second < 10; ++second) {
    pipeline.pass_a_second();
    EXPECT_FALSE(autotune.update(pipeline.read(), pipeline.now).has_value());
  }
  pipeline.pass_a_second();
  EXPECT_TRUE(autotune.update(pipeline.read(), pipeline.now).has_value());
}

}  // namespace
}  // namespace myxtts::autotune_test
