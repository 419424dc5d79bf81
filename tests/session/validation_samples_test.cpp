// SPDX-License-Identifier: Apache-2.0
#include "session/samples/validation_samples.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::test::validation_samples_test {
namespace {

using namespace std::chrono_literals;

// A training of which nothing is asked but its weights, and that has none.
class NoTraining final : public PartTraining {
 public:
  explicit NoTraining(RoleDevice& device) : PartTraining(device, {}, {}) {}

  double total(std::span<const double>) const override { return 0; }
  NamedTensors weights() const override { return {}; }
  NamedTensors optimiser() const override { return {}; }

 private:
  std::vector<const Optimiser*> optimisers() const override { return {}; }
  void pass(const DeviceBatch&) override {}
  void apply(double) override {}
  at::Tensor measure(const DeviceBatch&) const override { return {}; }
  void load(const NamedTensors&, const NamedTensors&) override {}
};

TEST(ValidationSamples, AfterAnyFailureTheNextMeasurementHasItsSamples) {
  const TemporaryFolder run;
  const auto device = open_role_device(Role::Model, RolePlan{});
  NoTraining training(*device);
  const OpenModel start{};
  std::atomic<int> calls = 0;
  // As LibTorch or the allocator do.
  const auto fails_at_first = [&calls](const OpenModel&, const TakeSample&, const auto&) {
    if (++calls == 1) throw std::runtime_error("out of memory\nframe #0: somewhere");
  };
  testing::internal::CaptureStderr();
  {
    ValidationSamples samples(run.path(), training, start, fails_at_first);
    const auto patience = std::chrono::steady_clock::now() + 20s;
    for (int step = 1; calls < 2 && std::chrono::steady_clock::now() < patience; ++step) {
      samples.evaluated({.step = step});
      std::this_thread::yield();
    }
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(calls, 2);
  EXPECT_NE(log.find("the samples of step 1 were not made: out of memory"), std::string::npos);
  EXPECT_EQ(log.find("frame #0"), std::string::npos);
}

// Takes its time, and says a text.
void make_slowly(const OpenModel&, const TakeSample& take, const std::function<bool()>&) {
  std::this_thread::sleep_for(200ms);
  take({.name = "01", .text = "What is said."});
}

TEST(ValidationSamples, TheLastOnesAreMadeWhateverIsStillAtWorkWithTheirText) {
  const TemporaryFolder run;
  const auto device = open_role_device(Role::Model, RolePlan{});
  NoTraining training(*device);
  const OpenModel start{};
  ValidationSamples samples(run.path(), training, start, make_slowly);
  samples.evaluated({.step = 1});
  samples.finish(2);
  EXPECT_EQ(contents_of(run / "samples/step-0000001/01.txt"), "What is said.\n");
  EXPECT_EQ(contents_of(run / "samples/step-0000002/01.txt"), "What is said.\n");
}

}  // namespace
}  // namespace myxtts::test::validation_samples_test
