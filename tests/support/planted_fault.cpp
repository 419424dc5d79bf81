// SPDX-License-Identifier: Apache-2.0
#include "support/planted_fault.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/random.h"

namespace myxtts::test {
namespace {

void wait_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

constexpr double kStallEvery = 20;  // steps, of jittery storage: one stall somewhere in so many

// A clip costs a step more than its tokens do, by its prompt: so padding has to be plenty to cost
// about as much as other faults of its strength.
constexpr double kPaddedTimes = 2;

// One fault's waits. Called by the threads of its stage.
class Waits {
 public:
  Waits(const PlantedFault& fault, const Healthy& healthy, std::uint64_t seed)
      : fault_(fault), healthy_(healthy), random_(seed, "planted " + fault.name) {}

  void at(Work work) {
    const double a_clip = fault_.seconds / healthy_.clips;
    if (fault_.name == "slow reader" && work == Work::ListingFiles) wait_for(a_clip);
    if (fault_.name == "slow disk" && work == Work::ReadingFiles) {
      wait_for(a_clip * healthy_.workers);
    }
    if (fault_.name == "slow decoder" && work == Work::Decoding) {
      wait_for(a_clip * healthy_.workers);
    }
    if (fault_.name == "heavy features" && work == Work::Features) wait_for(fault_.seconds);
    if (fault_.name == "slow transfer" && work == Work::Transfer) wait_for(fault_.seconds);
    if (fault_.name == "big model" && work == Work::Step) {
      wait_for(fault_.seconds - healthy_.step_seconds);  // the rest is the model as it is
    }
    if (fault_.name == "jittery storage" && work == Work::ReadingFiles) stall();
  }

 private:
  // Seldom and long: far less than a step's time a step. Exactly one in every round of files, at a
  // place that is drawn: by chance alone a short training might have none, and nothing to find.
  void stall() {
    const auto round = std::max<std::int64_t>(1, std::llround(kStallEvery * healthy_.clips));
    const std::int64_t call = calls_++;
    const std::int64_t place =
        random_.integer(static_cast<std::uint64_t>(call / round), 0, round - 1);
    if (call % round == place) wait_for(fault_.seconds);
  }

  const PlantedFault fault_;
  const Healthy healthy_;
  const RandomStream random_;
  std::atomic<std::int64_t> calls_ = 0;
};

}  // namespace

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> kNames = {
      "slow reader",   "slow disk", "slow decoder", "heavy features",
      "slow transfer", "big model", "bad padding",  "jittery storage"};
  return kNames;
}

PlantedFault make_fault(const std::string& name, double strength, const Healthy& healthy) {
  static const std::map<std::string, Cause> kExpected = {
      {"slow reader", Cause::Reading},    {"slow disk", Cause::Reading},
      {"slow decoder", Cause::Decoding},  {"heavy features", Cause::Features},
      {"slow transfer", Cause::Transfer}, {"big model", Cause::ModelBound},
      {"bad padding", Cause::Padding},    {"jittery storage", Cause::Oscillation}};
  const auto found = kExpected.find(name);
  MYXTTS_CHECK(found != kExpected.end(), "there is no fault '{}'", name);
  // A stall has to be longer than what the ring and the buffer bridge.
  const double steps = name == "jittery storage" ? 10 + 3 * strength : strength;
  return {.name = name,
          .expected = found->second,
          .strength = strength,
          .seconds = steps * healthy.step_seconds};
}

void plant(const std::vector<PlantedFault>& faults, const Healthy& healthy, std::uint64_t seed,
           TrialSettings& trial) {
  std::vector<std::shared_ptr<Waits>> planted;
  for (const PlantedFault& fault : faults) {
    if (fault.name == "bad padding") {
      trial.token_counts = 1;
      trial.least_tokens = std::llround(kPaddedTimes * fault.strength * healthy.tokens);
    }
    planted.push_back(std::make_shared<Waits>(fault, healthy, seed));
  }
  trial.on_work = [planted](Work work) {
    for (const auto& waits : planted) waits->at(work);
  };
}

}  // namespace myxtts::test
