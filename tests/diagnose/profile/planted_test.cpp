// SPDX-License-Identifier: Apache-2.0

// Bottlenecks planted in real stages, at strengths drawn at random: the verdict has to name them,
// and turning the knob that it names has to give what it predicts.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/random.h"
#include "diagnose/profile/planted_training.h"
#include "diagnose/profile/profile.h"

namespace myxtts::planted_test {
namespace {

using test::PlantedTraining;
using test::profile_of;

// MYXTTS_PLANTED_RUNS sets how often each is drawn; the table of docs/results/profile.md has three.
int runs() {
  const char* wanted = std::getenv("MYXTTS_PLANTED_RUNS");
  return wanted == nullptr ? 1 : std::atoi(wanted);
}

std::uint64_t seed_of(int run) {
  const char* wanted = std::getenv("MYXTTS_PLANTED_SEED");
  return static_cast<std::uint64_t>(run) +
         (wanted == nullptr ? 7 : std::strtoull(wanted, nullptr, 10));
}

// How many steps' time the faulty stage takes for one step's work.
double strength(std::uint64_t seed, std::uint64_t draw = 0) {
  return 1.5 + 2.0 * RandomStream(seed, "strength").uniform(draw);
}

enum class Fault { Reader, Disk, Decoder, Features, Transfer, Model, Storage };

void plant(PlantedTraining& training, Fault fault, double by) {
  const double step = training.step;
  const double a_clip = by * step / static_cast<double>(training.clips);
  const auto workers = static_cast<double>(training.workers);
  switch (fault) {
    case Fault::Reader:
      training.listing = a_clip;
      break;
    case Fault::Disk:
      training.files = a_clip * workers;
      break;
    case Fault::Decoder:
      training.decoding = a_clip * workers;
      break;
    case Fault::Features:
      training.encoding = by * step;
      break;
    case Fault::Transfer:
      training.transfer = by * step;
      break;
    case Fault::Model:
      training.step = by * step;
      break;
    case Fault::Storage:
      training.stall = (10 + 3 * by) * step;  // longer than ring and buffer bridge
      training.stall_chance = 0.012;
      training.steps *= 3;  // a few of them have to happen
      break;
  }
}

PlantedTraining healthy(std::uint64_t seed) {
  PlantedTraining training{.seed = seed};
  const RandomStream draw(seed, "healthy");
  training.decoding = 0.3 * draw.uniform(0) * training.step / 2;
  training.encoding = 0.5 * draw.uniform(1) * training.step;
  training.prompts = 0.1 * training.step;
  return training;
}

double model_seconds_a_clip(const Profile& profile) {
  return profile.reading.pipeline.model_device.busy_seconds /
         static_cast<double>(profile.reading.clips);
}

void expect_named_and_cured(const PlantedTraining& training, Cause expected) {
  const Profile before = profile_of(training);
  const Finding& said = before.findings.front();
  ASSERT_EQ(name_of(said.cause), name_of(expected)) << describe(before);
  if (!said.knob) return;
  const Profile after = profile_of(test::with(training, *said.knob));
  // Other work on the machine changes how long a wait really takes, in all stages alike: so the
  // measure is the model's own work.
  const double slower = model_seconds_a_clip(after) / model_seconds_a_clip(before);
  const double error = after.clips_per_second * slower / said.predicted_clips_per_second - 1;
  std::printf("%-16s %-22s predicted %6.1f clips/s, measured %6.1f, at equal waits %+.0f %%\n",
              name_of(said.cause).c_str(), said.knob->flag.c_str(), said.predicted_clips_per_second,
              after.clips_per_second, 100 * error);
  EXPECT_NEAR(error, 0, 0.15) << describe(before) << describe(after);
}

struct Case {
  Fault fault;
  Cause cause;
  const char* name;
};

class Planted : public testing::TestWithParam<Case> {};

TEST_P(Planted, FaultIsNamedAndItsKnobGivesWhatIsPredicted) {
  for (int run = 0; run < runs(); ++run) {
    PlantedTraining training = healthy(seed_of(run));
    plant(training, GetParam().fault, strength(seed_of(run)));
    expect_named_and_cured(training, GetParam().cause);
  }
}

INSTANTIATE_TEST_SUITE_P(Bottleneck, Planted,
                         testing::Values(Case{Fault::Reader, Cause::Reading, "SlowReader"},
                                         Case{Fault::Disk, Cause::Reading, "SlowDisk"},
                                         Case{Fault::Decoder, Cause::Decoding, "SlowDecoder"},
                                         Case{Fault::Features, Cause::Features, "HeavyFeatures"},
                                         Case{Fault::Transfer, Cause::Transfer, "SlowTransfer"},
                                         Case{Fault::Model, Cause::ModelBound, "BigModel"},
                                         Case{Fault::Storage, Cause::Oscillation,
                                              "JitteryStorage"}),
                         [](const auto& of) { return of.param.name; });

TEST(PlantedDecoder, MoreWorkersThanTheBufferHasClipsForArePredictedToIdle) {
  PlantedTraining training{.buffer = 1};
  plant(training, Fault::Decoder, 4);  // two workers; eight and a fifth to spare would be enough
  expect_named_and_cured(training, Cause::Decoding);
}

TEST(PlantedPair, TheLargerOfTwoFaultsIsNamed) {
  const std::vector<Case> faults = {{Fault::Reader, Cause::Reading, ""},
                                    {Fault::Decoder, Cause::Decoding, ""},
                                    {Fault::Features, Cause::Features, ""},
                                    {Fault::Transfer, Cause::Transfer, ""},
                                    {Fault::Model, Cause::ModelBound, ""}};
  const RandomStream draw(seed_of(0), "pairs");
  for (std::uint64_t pair = 0; pair < static_cast<std::uint64_t>(2 * runs()); ++pair) {
    const auto order = RandomStream(draw.bits(pair), "order").permutation(faults.size());
    PlantedTraining training = healthy(seed_of(static_cast<int>(pair)));
    const double smaller = strength(draw.bits(pair), 1);
    plant(training, faults[order[0]].fault, 1.5 * smaller);
    const double step = std::exchange(training.step, PlantedTraining{}.step);
    plant(training, faults[order[1]].fault, smaller);
    if (faults[order[1]].fault != Fault::Model) training.step = step;
    const Profile profile = profile_of(training);
    EXPECT_EQ(name_of(profile.findings.front().cause), name_of(faults[order[0]].cause))
        << describe(profile);
  }
}

TEST(PlantedNothing, AHealthyTrainingRaisesNoAlarm) {
  for (int run = 0; run < runs(); ++run) {
    const Profile profile = profile_of(healthy(seed_of(100 + run)));
    EXPECT_EQ(name_of(profile.findings.front().cause), "model-bound") << describe(profile);
  }
}

}  // namespace
}  // namespace myxtts::planted_test
