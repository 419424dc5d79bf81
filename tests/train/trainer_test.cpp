// SPDX-License-Identifier: Apache-2.0
#include "train/trainer.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/fake_clock.h"
#include "support/training_batches.h"
#include "train/plain_training.h"

namespace myxtts::trainer_test {
namespace {

using test::cloned;
using test::same_tensors;

constexpr std::int64_t kClips = 4;  // of a batch

// Batch `number` of epoch 0: clips that it decides, numbered through.
DeviceBatch made_batch(const GptConfig& gpt, const RoleDevice& device, std::int64_t number) {
  DeviceBatch batch =
      test::random_batch(gpt, device, {.clips = kClips}, static_cast<std::uint64_t>(number) + 1);
  batch.number = number;
  batch.position = {.epoch = 0, .step = number};
  for (std::int64_t clip = 0; clip < kClips; ++clip) {
    batch.clips[static_cast<std::size_t>(clip)] = static_cast<ClipNumber>(number * kClips + clip);
  }
  batch.audio_seconds = 0.5 + static_cast<double>(number);
  return batch;
}

class Listener final : public TrainingObserver {
 public:
  void stepped(const StepReport& report) override { steps.push_back(report); }
  void evaluated(const EvaluationReport& report) override { evaluations.push_back(report); }

  std::vector<double> losses() const {
    std::vector<double> values;
    for (const StepReport& step : steps) values.push_back(step.numbers.loss);
    return values;
  }

  std::vector<StepReport> steps;
  std::vector<EvaluationReport> evaluations;
};

// A training of the smallest network with a trainer and somebody who listens.
struct Bench {
  explicit Bench(TrainerSettings chosen = {}, double dropout = 0.1) {
    if (chosen.last_step == 0) chosen.last_step = 1'000'000;
    chosen.schedule.learning_rate = 1e-3;
    auto settings = test::plain_settings();
    settings.dropout = dropout;
    training = make_gpt_training(gpt, test::random_gpt_weights(gpt), *device, settings);
    trainer.emplace(*training, chosen);
    trainer->observe(heard);
  }

  DeviceBatch batch(std::int64_t number, bool ends_step = true) const {
    DeviceBatch made = made_batch(gpt, *device, number);
    made.ends_step = ends_step;
    return made;
  }

  void step(std::int64_t number) {
    DeviceBatch made = batch(number);
    trainer->step(made);
  }

  // As if the clip's sound had become nothing that is a number.
  void bad_step(std::int64_t number) {
    DeviceBatch made = batch(number);
    made.prompt_mel[1][3][5] = std::numeric_limits<float>::quiet_NaN();
    trainer->step(made);
  }

  EvaluationReport evaluate(const std::vector<std::int64_t>& numbers = {500, 501}) {
    std::vector<DeviceBatch> batches;
    for (const std::int64_t number : numbers) batches.push_back(batch(number));
    std::size_t next = 0;
    return trainer->evaluate(
        [&]() -> DeviceBatch* { return next < batches.size() ? &batches[next++] : nullptr; });
  }

  const GptConfig gpt = test::small_gpt();
  const std::unique_ptr<RoleDevice> device = test::one_cpu();
  Listener heard;
  std::unique_ptr<PartTraining> training;
  std::optional<Trainer> trainer;
};

TEST(Trainer, TellsOfEachStepItsNumbersClipsPlaceAndRate) {
  Bench bench({.schedule = {.kind = ScheduleKind::Constant, .warmup_steps = 2}});
  for (int number = 0; number < 3; ++number) bench.step(number);
  bench.trainer->finish();
  const auto& steps = bench.heard.steps;
  ASSERT_EQ(steps.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto expected = bench.batch(static_cast<std::int64_t>(i));
    EXPECT_EQ(steps[i].numbers.step, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(steps[i].position, expected.position);
    EXPECT_EQ(steps[i].batches, 1);
    EXPECT_EQ(steps[i].clips, expected.clips);
    EXPECT_DOUBLE_EQ(steps[i].audio_seconds, expected.audio_seconds);
    EXPECT_NEAR(steps[i].numbers.loss,
                0.01 * steps[i].numbers.losses[0] + steps[i].numbers.losses[1], 1e-5);
    EXPECT_GT(steps[i].numbers.gradient_norm, 0);
  }
  EXPECT_DOUBLE_EQ(steps[0].learning_rate, 5e-4);
  EXPECT_DOUBLE_EQ(steps[1].learning_rate, 1e-3);
}

TEST(Trainer, AStepOfSeveralBatchesIsOneUpdateAndOneReport) {
  Bench bench;
  for (int number = 0; number < 6; ++number) {
    DeviceBatch batch = bench.batch(number, /*ends_step=*/number % 3 == 2);
    const auto before = bench.trainer->state();
    bench.trainer->step(batch);
    EXPECT_EQ(bench.trainer->between_steps(), batch.ends_step);
    if (batch.ends_step) continue;
    EXPECT_EQ(bench.trainer->state().position, before.position)
        << "a batch that waits for its update is trained again after a resume";
    EXPECT_EQ(bench.trainer->state().step, before.step);
  }
  bench.trainer->finish();
  ASSERT_EQ(bench.heard.steps.size(), 2U);
  const StepReport& second = bench.heard.steps[1];
  EXPECT_EQ(second.position, (DataPosition{0, 3}));
  EXPECT_EQ(second.batches, 3);
  EXPECT_EQ(second.clips.size(), 12U);
  EXPECT_EQ(second.clips.back(), 23U);
  EXPECT_EQ(bench.trainer->state().position, (DataPosition{0, 6}));
}

TEST(Trainer, ThePositionOfACheckpointFollowsThePlan) {
  Bench bench({.next_position = [](DataPosition position) {
    return position.step == 1 ? DataPosition{position.epoch + 1, 0}
                              : DataPosition{position.epoch, position.step + 1};
  }});
  bench.step(0);
  EXPECT_EQ(bench.trainer->state().position, (DataPosition{0, 1}));
  bench.step(1);
  EXPECT_EQ(bench.trainer->state().position, (DataPosition{1, 0}));
}

TEST(Trainer, TheScheduleFollowsStepAndEpoch) {
  Bench bench({.schedule = {.kind = ScheduleKind::Steps}});
  DeviceBatch batch = bench.batch(0);
  batch.position.epoch = 900'000;
  bench.trainer->step(batch);
  bench.trainer->finish();
  EXPECT_DOUBLE_EQ(bench.heard.steps[0].learning_rate, 5e-4);
}

TEST(Trainer, EndsAtItsLastStep) {
  Bench bench({.last_step = 2});
  EXPECT_FALSE(bench.trainer->done());
  bench.step(0);
  EXPECT_FALSE(bench.trainer->done());
  bench.step(1);
  EXPECT_TRUE(bench.trainer->done());
}

TEST(Trainer, AClipThatIsNotANumberCostsExactlyItsOwnStepAndIsNamed) {
  Bench bench({.clip_name = [](ClipNumber clip) { return "wavs/clip" + std::to_string(clip); }});
  bench.step(0);
  const NamedTensors weights = cloned(bench.training->weights());
  const NamedTensors moments = cloned(bench.training->optimiser());
  testing::internal::CaptureStderr();
  bench.bad_step(1);
  bench.trainer->finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Step 2 was left out"), std::string::npos) << said;
  EXPECT_NE(said.find("wavs/clip4, wavs/clip5, wavs/clip6, wavs/clip7"), std::string::npos) << said;
  EXPECT_TRUE(same_tensors(bench.training->weights(), weights)) << "nothing was changed";
  bench.step(2);
  bench.trainer->finish();
  EXPECT_FALSE(same_tensors(bench.training->weights(), weights)) << "training goes on";
  const auto& steps = bench.heard.steps;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_FALSE(steps[0].numbers.skipped);
  EXPECT_TRUE(steps[1].numbers.skipped);
  EXPECT_FALSE(steps[2].numbers.skipped);
  EXPECT_TRUE(std::isfinite(steps[2].numbers.loss));
  EXPECT_EQ(bench.trainer->state().skipped_steps, 1);
  EXPECT_EQ(bench.trainer->state().step, 3) << "a step that was left out counts";
  EXPECT_EQ(bench.trainer->state().bad_steps, 0);
}

TEST(Trainer, OneBadBatchOfSeveralCostsTheWholeStep) {
  Bench bench;
  bench.step(0);
  const NamedTensors weights = cloned(bench.training->weights());
  DeviceBatch bad = bench.batch(1, /*ends_step=*/false);
  bad.prompt_mel[0][0][0] = std::numeric_limits<float>::infinity();
  bench.trainer->step(bad);
  bench.step(2);
  bench.trainer->finish();
  EXPECT_TRUE(bench.heard.steps.back().numbers.skipped);
  EXPECT_TRUE(same_tensors(bench.training->weights(), weights));
  bench.step(3);
  bench.trainer->finish();
  EXPECT_FALSE(bench.heard.steps.back().numbers.skipped) << "nothing of it is left in the sums";
}

TEST(Trainer, TooManyBadStepsInARowStopTheRunAndNameTheLastGoodCheckpoint) {
  std::int64_t asked = -1;
  Bench bench({.max_bad_steps = 20, .checkpoint_until = [&](std::int64_t step) {
                 asked = step;
                 return std::optional<std::int64_t>(7);
               }});
  for (int number = 0; number < 9; ++number) bench.step(number);
  testing::internal::CaptureStderr();
  for (int number = 9; number < 28; ++number) bench.bad_step(number);
  bench.trainer->finish();
  std::string complaint;
  try {
    bench.bad_step(28);
    bench.trainer->finish();
  } catch (const DataError& error) {
    complaint = error.what();
  }
  testing::internal::GetCapturedStderr();
  EXPECT_NE(complaint.find("stopped at step 29"), std::string::npos) << complaint;
  EXPECT_NE(complaint.find("20 steps in a row"), std::string::npos) << complaint;
  EXPECT_NE(complaint.find("--resume 7"), std::string::npos) << complaint;
  EXPECT_NE(complaint.find("in the last one the gradients of gpt."), std::string::npos)
      << complaint;
  EXPECT_EQ(asked, 9) << "a checkpoint made since then is no better than what failed";
}

TEST(Trainer, BadStepsThatAreNotInARowStopNothing) {
  Bench bench({.max_bad_steps = 2});
  testing::internal::CaptureStderr();
  for (int number = 0; number < 12; ++number) {
    if (number % 2 == 0) {
      bench.bad_step(number);
    } else {
      bench.step(number);
    }
  }
  EXPECT_NO_THROW(bench.trainer->finish());
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(bench.trainer->state().skipped_steps, 6);
}

TEST(Trainer, ASpikeIsSaidWithItsClipsAndTrainedOn) {
  // Two steps of the same loss, and a mean that makes the second look far away.
  const GptConfig gpt = test::small_gpt();
  const auto device = test::one_cpu();
  const auto training =
      make_gpt_training(gpt, test::random_gpt_weights(gpt), *device, test::plain_settings());
  TrainingState start;
  start.mean_loss = 0.5;
  Trainer trainer(*training, {.last_step = 10, .spike_factor = 2.0}, start);
  Listener heard;
  trainer.observe(heard);
  testing::internal::CaptureStderr();
  for (int number = 0; number < 2; ++number) {
    DeviceBatch batch = made_batch(gpt, *device, number);
    trainer.step(batch);
  }
  trainer.finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(heard.steps[0].spike);
  EXPECT_FALSE(heard.steps[0].numbers.skipped);
  EXPECT_NE(said.find("The loss of step 1 is"), std::string::npos) << said;
  EXPECT_NE(said.find("Its clips are 0, 1, 2, 3."), std::string::npos) << said;
  EXPECT_EQ(said.find("The loss of step 2 is"), std::string::npos) << "a series is said once";
  EXPECT_TRUE(heard.steps[1].spike);
}

TEST(Trainer, AnEvaluationGivesTheSameNumberTwiceAndChangesNothing) {
  const auto losses_with = [](bool evaluates) {
    Bench bench;
    for (int number = 0; number < 8; ++number) {
      DeviceBatch batch = bench.batch(number, /*ends_step=*/number % 2 == 1);
      bench.trainer->step(batch);
      if (!evaluates) continue;
      const auto first = bench.evaluate();  // also between two batches of one step
      const auto second = bench.evaluate();
      EXPECT_EQ(first.loss, second.loss);
      EXPECT_EQ(first.losses, second.losses);
    }
    bench.trainer->finish();
    return std::pair(bench.heard.losses(), cloned(bench.training->weights()));
  };
  const auto [losses, weights] = losses_with(false);
  const auto [with_evaluations, same_weights] = losses_with(true);
  EXPECT_EQ(losses, with_evaluations);
  EXPECT_TRUE(same_tensors(weights, same_weights));
}

TEST(Trainer, AnEvaluationIsTheMeanOverTokensHoweverTheClipsLieInBatches) {
  Bench bench;
  bench.step(0);
  const auto both = bench.evaluate({500, 501});
  const auto first = bench.evaluate({500});
  const auto second = bench.evaluate({501});
  const auto targets = [&](std::int64_t number) {
    return bench.batch(number).rows.audio_count.item<double>();
  };
  const double mean = (first.losses[1] * targets(500) + second.losses[1] * targets(501)) /
                      (targets(500) + targets(501));
  EXPECT_NE(targets(500), targets(501)) << "a mean over batches would be another number";
  EXPECT_NEAR(both.losses[1], mean, 1e-6);
  EXPECT_EQ(both.clips, 8);
  EXPECT_NEAR(both.loss, 0.01 * both.losses[0] + both.losses[1], 1e-9);
}

TEST(Trainer, TheBestEvaluationIsKeptAndItsLossIsOnlyThatOfItsOwnStep) {
  Bench bench;
  bench.step(0);
  EXPECT_FALSE(bench.trainer->state().validation_loss.has_value());
  const auto report = bench.evaluate();
  EXPECT_TRUE(report.best);
  EXPECT_EQ(report.step, 1);
  EXPECT_EQ(bench.trainer->state().validation_loss, report.loss);
  EXPECT_EQ(bench.trainer->state().best_validation_loss, report.loss);
  EXPECT_FALSE(bench.evaluate().best) << "the same weights are not better than themselves";
  bench.step(1);
  EXPECT_FALSE(bench.trainer->state().validation_loss.has_value()) << "these weights are others";
  EXPECT_EQ(bench.trainer->state().best_validation_loss, report.loss);
  EXPECT_EQ(bench.heard.evaluations.size(), 2U);
}

TEST(Trainer, StopsEarlyAfterEvaluationsWithoutABetterLoss) {
  Bench bench({.early_stopping = 2});
  bench.step(0);
  bench.evaluate();
  EXPECT_FALSE(bench.trainer->done());
  bench.evaluate();
  EXPECT_FALSE(bench.trainer->done());
  bench.evaluate();
  EXPECT_TRUE(bench.trainer->done());
}

TEST(Trainer, ObserversHearOfAllStepsBeforeAnEvaluation) {
  Bench bench;
  for (int number = 0; number < 4; ++number) bench.step(number);
  bench.evaluate();
  EXPECT_EQ(bench.heard.steps.size(), 4U);
}

TEST(Trainer, NothingToMeasureOnIsAnError) {
  Bench bench;
  EXPECT_THROW(bench.evaluate({}), DataError);
}

TEST(Trainer, ACheckpointInMidStepIsThatOfTheStepBefore) {
  Bench bench;
  bench.step(0);
  const CheckpointContents before = bench.trainer->contents();
  const NamedTensors weights = cloned(before.weights);
  DeviceBatch batch = bench.batch(1, /*ends_step=*/false);
  bench.trainer->step(batch);
  const CheckpointContents found = bench.trainer->contents();
  EXPECT_EQ(found.state.step, before.state.step);
  EXPECT_EQ(found.state.position, (DataPosition{0, 1})) << "the batch is trained again";
  EXPECT_TRUE(same_tensors(found.weights, weights));
}

TEST(Trainer, ContinuesFromItsContentsAsIfItHadNotStopped) {
  Bench whole;
  for (int number = 0; number < 10; ++number) {
    number == 3 ? whole.bad_step(number) : whole.step(number);
  }
  whole.trainer->finish();
  for (const int stop : {1, 4, 7}) {
    Bench first;
    for (int number = 0; number < stop; ++number) {
      number == 3 ? first.bad_step(number) : first.step(number);
    }
    const CheckpointContents saved = first.trainer->contents();
    Bench second;
    second.training->restore(saved.state.step, saved.weights, saved.optimiser);
    TrainerSettings settings{.last_step = 1'000'000};
    settings.schedule.learning_rate = 1e-3;
    second.trainer.emplace(*second.training, settings, saved.state);
    second.trainer->observe(second.heard);
    for (int number = stop; number < 10; ++number) {
      number == 3 ? second.bad_step(number) : second.step(number);
    }
    second.trainer->finish();
    TrainingState here = whole.trainer->state();
    TrainingState there = second.trainer->state();
    here.seconds = there.seconds = 0;
    EXPECT_EQ(here, there) << "stopped after " << stop;
    EXPECT_TRUE(same_tensors(whole.training->weights(), second.training->weights())) << stop;
    EXPECT_TRUE(same_tensors(whole.training->optimiser(), second.training->optimiser())) << stop;
  }
}

TEST(Trainer, TimeThatJumpsChangesNothingButTheSecondsTold) {
  const auto run = [](const std::vector<double>& jumps) {
    test::FakeClock clock;
    Bench bench({.early_stopping = 3, .clock = &clock});
    for (std::size_t number = 0; number < jumps.size(); ++number) {
      bench.step(static_cast<std::int64_t>(number));
      clock.advance(std::chrono::duration_cast<Clock::Time::duration>(
          std::chrono::duration<double>(jumps[number])));
      if (number % 2 == 1) bench.evaluate();
    }
    bench.trainer->finish();
    TrainingState state = bench.trainer->state();
    const double seconds = std::exchange(state.seconds, 0.0);
    return std::tuple(bench.heard.losses(), state, seconds);
  };
  const auto [losses, state, seconds] = run({1, 1, 1, 1});
  const auto [jumped, same_state, other_seconds] = run({0, 86400 * 400.0, -86400 * 300.0, 5});
  EXPECT_EQ(losses, jumped);
  EXPECT_EQ(state, same_state);
  EXPECT_DOUBLE_EQ(seconds, 4);
  EXPECT_DOUBLE_EQ(other_seconds, 86400 * 100.0 + 5);
}

TEST(Trainer, MinutesEndItOverAllResumes) {
  test::FakeClock clock;
  const TrainerSettings settings{.schedule = {.kind = ScheduleKind::Cosine,
                                              .learning_rate = 1e-3,
                                              .last_step = 1'000'000,
                                              .most_seconds = 60},
                                 .last_step = 1'000'000,
                                 .clock = &clock};
  Bench first(settings);
  first.step(0);
  clock.advance(std::chrono::seconds(40));
  first.step(1);
  EXPECT_FALSE(first.trainer->done());
  first.trainer->finish();
  EXPECT_NEAR(first.heard.steps[1].learning_rate, 1e-3 * 0.25, 1e-9) << "two thirds of the time";

  TrainingState left = first.trainer->state();
  left.step = 0;  // a bench of its own, with the time of the other
  Bench second(settings);
  second.trainer.emplace(*second.training, settings, left);
  EXPECT_FALSE(second.trainer->done());
  clock.advance(std::chrono::seconds(20));
  EXPECT_TRUE(second.trainer->done());
}

}  // namespace
}  // namespace myxtts::trainer_test
