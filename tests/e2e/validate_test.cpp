// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/processor_time.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace myxtts::test::validate_test {
namespace {

const std::vector<std::string> kNoGpu{"MYXTTS_NVML_LIBRARY=libabsent-nvml.so.1",
                                      "MYXTTS_CUDA_DRIVER=libabsent-cuda.so.1"};

ProgramResult validate(std::vector<std::string> flags, std::vector<std::string> more = {}) {
  flags.insert(flags.begin(), "validate");
  std::vector<std::string> environment = kNoGpu;
  environment.insert(environment.end(), more.begin(), more.end());
  return run_program(flags, {.standard_input = {}, .environment = environment});
}

std::map<std::string, std::string> verdicts(const nlohmann::json& report) {
  std::map<std::string, std::string> found;
  for (const auto& step : report.at("steps")) {
    for (const auto& check : step.at("checks")) found[check["id"]] = check["verdict"];
  }
  return found;
}

// Processor time, not wall time: a busy machine must not fail the test. A minute is seven times
// what a core of 2023 takes.
TEST(Validate, TheCpuPassesFiveStepsWithinAMinute) {
  const double before = children_seconds();
  const auto result = validate({"--device", "cpu", "--json"});
  EXPECT_LT(children_seconds() - before, 60);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_TRUE(report.at("passed"));
  EXPECT_EQ(report.at("plan").at("mode"), "cpu");
  std::vector<std::string> steps;
  for (const auto& step : report.at("steps")) steps.push_back(step.at("id"));
  EXPECT_EQ(steps, (std::vector<std::string>{"prerequisites", "placement", "model", "transfer",
                                             "pipeline"}));
  const auto found = verdicts(report);
  for (const char* id :
       {"prerequisites.sound", "placement.visible", "placement.data_device",
        "placement.model_device", "placement.data_cap", "placement.model_cap", "model.parameters",
        "model.activations", "model.gradients", "model.step", "transfer.forth", "transfer.back",
        "transfer.path", "transfer.bandwidth", "pipeline.batches", "pipeline.readiness"}) {
    ASSERT_TRUE(found.contains(id)) << id;
    EXPECT_EQ(found.at(id), "PASS") << id;
  }
  EXPECT_EQ(found.at("placement.split"), "SKIP");
}

TEST(Validate, SettingsOfAnotherStageAreTriedWithTheGpt) {
  const TemporaryFolder folder;
  std::ofstream(folder / "run.yaml")
      << "train:\n  stage: decoder\n  model_size: tiny\n  windows_per_clip: 2\n";
  const auto result =
      validate({"--device", "cpu", "--json", "--config", (folder / "run.yaml").string()});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(Validate, AMissingSoundLibraryFailsWithItsRemedy) {
  const auto result =
      validate({"--device", "cpu"}, {"MYXTTS_SNDFILE_LIBRARY=libabsent-sndfile.so"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.out.find("FAIL  sound library"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("apt install libsndfile1"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("PASS  data to model"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("This placement does not work:"), std::string::npos) << result.out;
}

TEST(Validate, ATmpdirThatIsMissingIsNamedAndNoDeviceIsBlamed) {
  const TemporaryFolder folder;
  const std::string missing = folder / "missing";
  const auto result = validate({"--device", "cpu"}, {"TMPDIR=" + missing});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_NE(result.err.find("TMPDIR names the folder " + missing), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("mkdir -p '" + missing + "'"), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("Report it"), std::string::npos) << result.out;
}

TEST(Validate, CtrlCLeavesNoTemporaryFolders) {
  const TemporaryFolder folder;
  std::vector<std::string> environment = kNoGpu;
  environment.push_back("TMPDIR=" + folder.path().string());
  StartedProgram program({"validate", "--device", "cpu"}, {.environment = environment});
  while (std::filesystem::is_empty(folder.path()) &&
         !program.ends_within(std::chrono::milliseconds(2))) {
  }
  program.send(SIGINT);
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// The stand-in for CUDA has a second card that fails its test.
TEST(Validate, AGpuThatComputesWronglyFails) {
  const std::vector<std::string> two{
      "MYXTTS_NVML_LIBRARY=" FAKE_NVML, "FAKE_NVML_NAMES=NVIDIA L4;NVIDIA L4",
      "MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN, "MYXTTS_CUDA_DRIVER=" FAKE_NVML};
  const auto result = validate({"--data-gpu", "0", "--model-gpu", "1"}, two);
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_NE(result.out.find("PASS  GPU 0 "), std::string::npos) << result.out;
  const auto failed = result.out.find("FAIL  GPU 1 ");
  ASSERT_NE(failed, std::string::npos) << result.out;
  EXPECT_NE(result.out.find("it computes wrongly", failed), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("Do not train on it"), std::string::npos) << result.out;
}

TEST(Validate, FlagsThatCannotBeFollowedAreErrorsAsElsewhere) {
  const auto two = validate({"--data-gpu", "0", "--model-gpu", "1"});
  EXPECT_EQ(two.exit_code, 4) << two.err;
  EXPECT_EQ(two.out, "");
  EXPECT_EQ(validate({"--device", "cpu", "--split-gpu", "0"}).exit_code, 2);
  const auto all = validate({"--mode", "auto"});
  EXPECT_EQ(all.exit_code, 2);
  EXPECT_NE(all.err.find("--mode single"), std::string::npos) << all.err;
  EXPECT_EQ(validate({"--device", "cpu", "--model-size", "huge"}).exit_code, 2);
}

TEST(Recommend, PrintsATableForTheSizeAndNamesTheSizesOtherwise) {
  const auto one = run_program({"doctor", "--recommend", "--model-size", "normal"},
                               {.standard_input = {}, .environment = kNoGpu});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_NE(one.out.find("normal: "), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("xtts-v2: "), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("myxtts train --model-size normal --batch-size"), std::string::npos);
  const auto all = run_program({"doctor", "--recommend", "--json"},
                               {.standard_input = {}, .environment = kNoGpu});
  EXPECT_EQ(nlohmann::json::parse(all.out).at("model_sizes").size(), 5U);
  // Without a GPU and a size: what this machine can do, and how to ask for more.
  const auto own = run_program({"doctor", "--recommend"}, {.environment = kNoGpu});
  EXPECT_NE(own.out.find("myxtts train --model-size tiny --batch-size 8 --device cpu"),
            std::string::npos)
      << own.out;
  EXPECT_EQ(own.out.find("1 card"), std::string::npos) << own.out;
  EXPECT_EQ(own.out.find("NVLink"), std::string::npos) << own.out;
  EXPECT_TRUE(own.out.ends_with("myxtts doctor --recommend --model-size xtts-v2\n")) << own.out;
  const auto wrong = run_program({"doctor", "--recommend", "--model-size", "huge"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("xtts-v2"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace myxtts::test::validate_test
