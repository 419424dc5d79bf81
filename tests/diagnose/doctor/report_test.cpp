// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/checklist.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "diagnose/doctor/measure.h"
#include "support/fake_machine.h"

namespace myxtts::report_test {
namespace {

// Everything there but a GPU; all made up, so that the text does not depend on where the test runs.
Findings healthy() {
  test::FakeMachine machine;
  Findings findings;
  findings.program_version = "1.2.3";
  findings.compiler = "GCC 12.2.0 (RelWithDebInfo)";
  findings.libtorch = {"2.11.0", "2.11.0", "/opt/torch/lib/libtorch_cpu.so"};
  findings.machine = discover_machine(machine);
  findings.cuda = {.plugin_present = true,
                   .reason = "there is no NVIDIA driver: libcuda.so.1: cannot open",
                   .remedy = "Install NVIDIA's driver, version 580 or newer"};
  findings.disk = machine.disk("/data");
  findings.sound = {.version = "libsndfile-1.2.0", .path = "/usr/lib/libsndfile.so.1"};
  findings.sound_formats = {"WAV", "FLAC", "Vorbis", "Opus", "MP3"};
  findings.icu_version = "72.1";
  findings.japanese = {.path = "/opt/text/unidic", .bytes = 259'500'000};
  findings.chinese = {.path = "/opt/text/pypinyin", .bytes = 3'300'000};
  findings.speech = {.path = "/opt/sound/silero-vad", .bytes = 1'239'748};
  return findings;
}

Findings with_gpus(std::vector<GpuInfo> gpus) {
  Findings findings = healthy();
  findings.machine.gpus = {
      .driver_found = true, .driver_version = "580.65.06", .cuda_version = 13000};
  findings.cuda = {.plugin_present = true,
                   .runtime_version = 13000,
                   .libtorch_devices = static_cast<int>(gpus.size())};
  for (const GpuInfo& gpu : gpus) findings.cuda.tested.push_back({.pci_bus_id = gpu.pci_bus_id});
  findings.machine.gpus.gpus = std::move(gpus);
  return findings;
}

std::string text_of(const Findings& findings) {
  return report_text(findings, make_checklist(findings));
}

std::string golden(const std::string& name) {
  const char* folder = std::getenv("MYXTTS_TEST_DATA");
  std::ifstream file(std::string(folder != nullptr ? folder : "tests") +
                     "/diagnose/doctor/golden/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Report, AMachineWithoutAGpu) {
  EXPECT_EQ(text_of(healthy()), golden("no_gpu.txt"));
}

TEST(Report, AMachineWithOneH200) {
  EXPECT_EQ(text_of(with_gpus({test::fake_h200(0)})), golden("one_h200.txt"));
}

TEST(Report, TwoUnequalGpusWithNvLinkAndOneThatComputesWrongly) {
  Findings findings = with_gpus({test::fake_h200(0), test::fake_l4(1)});
  findings.machine.gpus.links = {{.first = 0, .second = 1, .path = GpuPath::NvLink, .nvlinks = 4}};
  findings.machine.gpus.visible_devices = "1,0";
  findings.cuda.tested.front().fault = "it computes wrongly: number 7 of a test kernel is 0, not 9";
  EXPECT_EQ(text_of(findings), golden("two_unequal_gpus.txt"));
}

TEST(Report, ADriverThatIsTooOldAndLittleOfEverything) {
  Findings findings = with_gpus({test::fake_l4(0)});
  findings.machine.gpus.driver_version = "535.183.01";
  findings.machine.gpus.cuda_version = 12020;
  findings.cuda.tested = {};
  findings.cuda.libtorch_devices = 0;
  findings.cuda.faults = {
      "CUDA failed while counting the GPUs: CUDA driver version is insufficient for CUDA runtime "
      "version (cudaErrorInsufficientDriver)."};
  findings.machine.cpu.quota = 1.5;
  findings.machine.memory = {
      .total_bytes = 4'000'000'000, .available_bytes = 1'500'000'000, .limited_by_container = true};
  findings.disk.free_bytes = 300'000'000;
  findings.sound_formats = {"WAV", "FLAC", "Vorbis", "Opus"};
  findings.japanese = {};
  findings.chinese.missing = {"phrases_dict.json"};
  EXPECT_EQ(text_of(findings), golden("old_driver.txt"));
}

TEST(Report, TheJsonHoldsEveryRowOfTheTable) {
  const Findings findings = with_gpus({test::fake_h200(0)});
  const auto checklist = make_checklist(findings);
  const auto report = nlohmann::json::parse(report_json(findings, checklist));
  EXPECT_EQ(report["version"], "1.2.3");
  EXPECT_EQ(report["can_run_on_cpu"], true);
  ASSERT_EQ(report["checks"].size(), checklist.size());
  for (std::size_t row = 0; row < checklist.size(); ++row) {
    EXPECT_EQ(report["checks"][row]["id"], checklist[row].id);
    const std::map<Verdict, std::string> states{
        {Verdict::Pass, "ok"}, {Verdict::Warn, "warning"}, {Verdict::Fail, "missing"}};
    EXPECT_EQ(report["checks"][row]["state"], states.at(checklist[row].verdict));
    EXPECT_EQ(report["checks"][row]["found"], checklist[row].found);
  }
}

TEST(Report, ANameThatIsNotUtf8DoesNotBreakTheJson) {
  Findings findings = with_gpus({test::fake_h200(0)});
  findings.machine.gpus.gpus[0].name = "NVIDIA \xff";
  const auto report = nlohmann::json::parse(report_json(findings, make_checklist(findings)));
  EXPECT_EQ(report["checks"].size(), make_checklist(findings).size());
}

}  // namespace
}  // namespace myxtts::report_test
