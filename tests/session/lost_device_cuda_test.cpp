// SPDX-License-Identifier: Apache-2.0
//
// A GPU that is lost under a run. CUDA gives it up for the whole process, so there is one test.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "base/error.h"
#include "run/run_directory.h"
#include "run/sealed_folder.h"
#include "session/plan_run.h"
#include "session/training_run.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts::lost_device_cuda_test {
namespace {

constexpr std::int64_t kLostAfter = 7;  // steps

// Looks up a row that no table has: the kernel stops, and with it everything of this process on the
// GPU, as after an uncorrectable error of its memory.
class DeviceLoser final : public TrainingObserver {
 public:
  void stepped(const StepReport& report) override {
    if (report.numbers.step != kLostAfter) return;
    const c10::Device gpu(c10::kCUDA, 0);
    const auto rows = at::full({1}, 1 << 30, at::TensorOptions(gpu).dtype(at::kLong));
    lost_ = at::zeros({4, 4}, at::TensorOptions(gpu)).index_select(0, rows);
  }
  void evaluated(const EvaluationReport&) override {}

 private:
  at::Tensor lost_;
};

RunConfig config_for(const std::filesystem::path& folder) {
  return {.data = {.train_data = {{.path = make_corpus(folder / "corpus", CorpusLayout::LjSpeech,
                                                       test::made_clips(16))}},
                   .val_fraction = 0.0},
          .devices = {.device = DeviceKind::Cuda},
          .train = {.model_size = "tiny", .batch_size = 2, .epochs = 1000, .max_steps = 1000},
          .run = {.checkpoint_dir = folder / "run", .save_steps = 2}};
}

TEST(LostDevice, EndsTheRunWithItsNameAndLeavesTheCheckpointsWhole) {
  const test::TemporaryFolder folder;
  const EffectiveConfig settings{.values = config_for(folder.path()), .origins = {}};
  DevicePlan plan;
  try {
    plan = plan_and_open_devices(settings.values, sizes_to_train(settings.values.train));
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "no CUDA device here: " << error.what();
  }
  const RunDirectory directory(settings.values.run.checkpoint_dir);
  CheckpointStore checkpoints(directory.path());
  DeviceLoser loser;
  std::string message;
  {
    RunInputs inputs(settings, {plan}, directory.path());
    TrainingRun run(inputs, checkpoints);
    run.observe(loser);
    run.start();
    try {
      run.train();
    } catch (const DeviceError& error) {
      message = error.what();
    }
  }  // which gives back what belongs to a device that is gone
  EXPECT_NE(message.find("GPU 0"), std::string::npos) << message;
  EXPECT_NE(message.find("assert"), std::string::npos) << message;
  EXPECT_NE(message.find("--resume"), std::string::npos) << message;

  const CheckpointStore reopened(directory.path());
  ASSERT_FALSE(reopened.all().empty());
  for (const Checkpoint& checkpoint : reopened.all()) EXPECT_EQ(find_damage(checkpoint.folder), "");
  EXPECT_GE(reopened.all().back().step, 4);
}

}  // namespace
}  // namespace myxtts::lost_device_cuda_test
