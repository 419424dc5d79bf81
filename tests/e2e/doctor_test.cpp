// SPDX-License-Identifier: Apache-2.0
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/processor_time.h"
#include "support/program.h"

namespace myxtts::test::doctor_test {
namespace {

namespace fs = std::filesystem;

using Rows = std::map<std::string, std::string>;

// A machine with a driver and no GPU, wherever the test runs.
const std::vector<std::string> kDriverWithoutGpu{
    "MYXTTS_NVML_LIBRARY=" FAKE_NVML, "FAKE_NVML_NAMES=", "MYXTTS_CUDA_DRIVER=libabsent-cuda.so.1"};

// Doctor's rows by id, with figures that change from second to second left out.
Rows doctor_rows(std::vector<std::string> more = {}) {
  std::vector<std::string> environment = kDriverWithoutGpu;
  environment.insert(environment.end(), more.begin(), more.end());
  const auto result =
      run_program({"doctor", "--json"}, {.standard_input = {}, .environment = environment});
  const auto report = nlohmann::json::parse(result.out);
  Rows rows;
  for (const auto& check : report.at("checks")) {
    const std::string id = check["id"];
    const std::string found = check["found"];
    const bool volatile_figure = check["state"] == "ok" && (id == "memory" || id == "disk");
    rows[id] =
        check["state"].get<std::string>() + ": " +
        (volatile_figure ? std::regex_replace(found, std::regex("[0-9.]+ [MG]B"), "#") : found);
  }
  return rows;
}

std::string changed_rows(const Rows& before, const Rows& after) {
  std::string ids;
  for (const auto& [id, row] : before) {
    if (!after.contains(id) || after.at(id) != row) ids += id + " ";
  }
  for (const auto& [id, row] : after) {
    if (!before.contains(id)) ids += id + " ";
  }
  return ids;
}

// Processor time, not wall time: a busy machine must not fail the test. And by that of a start that
// loads the same libraries and does nothing: an old machine must not either. A look at what is
// there costs less than the start; to try a network, or to read a corpus, would cost many of them.
TEST(Doctor, SaysThatACpuRunIsPossibleInTheTimeOfAFewStarts) {
  const double before = children_seconds();
  run_program({"--version"}, {.standard_input = {}, .environment = kDriverWithoutGpu});
  const double start = children_seconds() - before;
  const auto result =
      run_program({"doctor"}, {.standard_input = {}, .environment = kDriverWithoutGpu});
  EXPECT_LT(children_seconds() - before - start, 4 * start);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("Everything that a run on the CPU needs is here."), std::string::npos)
      << result.out;
  EXPECT_EQ(result.err, "");
}

TEST(Doctor, NamesTheLibTorchThatIsLoaded) {
  const std::string row = doctor_rows().at("libtorch");
  EXPECT_EQ(row.rfind("ok: 2.11.", 0), 0u) << row;
  EXPECT_NE(row.find("/libtorch_cpu.so"), std::string::npos) << row;
}

TEST(Doctor, SoundLibraryTakenAwayChangesThatRowAlone) {
  const Rows without = doctor_rows({"MYXTTS_SNDFILE_LIBRARY=libabsent-sound.so.1"});
  EXPECT_EQ(changed_rows(doctor_rows(), without), "sound ");
  EXPECT_NE(without.at("sound").find("libabsent-sound.so.1"), std::string::npos);
  const auto result = run_program(
      {"doctor"},
      {.standard_input = {}, .environment = {"MYXTTS_SNDFILE_LIBRARY=libabsent-sound.so.1"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("apt install libsndfile1"), std::string::npos) << result.out;
}

TEST(Doctor, PluginTakenAwayChangesThatRowAlone) {
  const Rows with = doctor_rows({"MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN});
  const Rows without = doctor_rows({"MYXTTS_CUDA_PLUGIN=/no/such/libmyxtts_cuda.so"});
  EXPECT_EQ(changed_rows(with, without), "cuda_plugin ");
  EXPECT_NE(without.at("cuda_plugin").find("/no/such/libmyxtts_cuda.so"), std::string::npos);
}

// Two cards, listed the other way round, of which the second of the list computes wrongly.
const std::vector<std::string> kTwoListedGpus{
    "FAKE_NVML_NAMES=NVIDIA H200;NVIDIA L4", "MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN,
    "MYXTTS_CUDA_DRIVER=" FAKE_NVML, "CUDA_VISIBLE_DEVICES=1,0"};

TEST(Doctor, APluginThatOpensIsSaidWithTheGpusItRanAKernelOn) {
  const Rows closed = doctor_rows({"MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN});
  EXPECT_EQ(closed.at("cuda_plugin").rfind("warning: built, but not opened: ", 0), 0U)
      << closed.at("cuda_plugin");
  const Rows opened = doctor_rows(kTwoListedGpus);
  EXPECT_NE(opened.at("cuda_plugin").find("our kernels run on GPU 0"), std::string::npos);
}

// One number for a card, wherever doctor names it: that of the list, with nvidia-smi's beside it.
TEST(Doctor, WithAListOfVisibleDevicesEveryCardHasOneNumber) {
  std::vector<std::string> environment{"MYXTTS_NVML_LIBRARY=" FAKE_NVML};
  environment.insert(environment.end(), kTwoListedGpus.begin(), kTwoListedGpus.end());
  const auto result = run_program({"doctor"}, {.standard_input = {}, .environment = environment});
  std::size_t last = 0;  // in this order
  for (const char* words : {"ok       GPU 0           NVIDIA L4, nvidia-smi's 1, ",
                            "failed   GPU 1           NVIDIA H200, nvidia-smi's 0, ",
                            "it computes wrongly", "Usable GPUs: GPU 0. Not usable: GPU 1."}) {
    const std::size_t at = result.out.find(words, last);
    ASSERT_NE(at, std::string::npos) << words << "\n" << result.out;
    last = at;
  }
}

TEST(Doctor, DriverTakenAwayChangesThatRowAlone) {
  const Rows without = doctor_rows({"MYXTTS_NVML_LIBRARY=libabsent-ml.so.1"});
  EXPECT_EQ(changed_rows(doctor_rows(), without), "driver ");
  EXPECT_NE(without.at("driver").find("libabsent-ml.so.1"), std::string::npos);
}

TEST(Doctor, AGpuMoreIsARowMore) {
  const Rows one = doctor_rows({"FAKE_NVML_NAMES=NVIDIA H200"});
  const Rows two = doctor_rows({"FAKE_NVML_NAMES=NVIDIA H200;NVIDIA L4", "FAKE_NVML_ANCESTOR=10"});
  EXPECT_EQ(changed_rows(doctor_rows(), one), "gpus gpu0 ");
  EXPECT_EQ(changed_rows(one, two), "gpu1 links ");
  EXPECT_EQ(two.at("links"), "ok: 0-1 PIX");
}

TEST(Doctor, DictionaryTakenAwayChangesThatRowAloneAndSaysWhatToType) {
  const fs::path folder = fs::temp_directory_path() / ("myxtts-text-" + std::to_string(getpid()));
  for (const char* file :
       {"unidic/sys.dic", "unidic/matrix.bin", "unidic/char.bin", "unidic/unk.dic",
        "pypinyin/pinyin_dict.json", "pypinyin/phrases_dict.json"}) {
    fs::create_directories((folder / file).parent_path());
    std::ofstream(folder / file) << "x";
  }
  const std::string variable = "MYXTTS_TEXT_DATA=" + folder.string();
  const Rows with = doctor_rows({variable});
  fs::remove_all(folder / "unidic");
  const Rows without = doctor_rows({variable});
  fs::remove_all(folder);
  EXPECT_EQ(changed_rows(with, without), "japanese ");
  EXPECT_EQ(without.at("japanese"), "missing: not installed");
}

// Runs `body` with a file system of 20 MB as its working folder; false: not allowed here.
template <typename Body>
bool on_a_small_disk(const fs::path& folder, Body body) {
  fs::create_directories(folder);
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=20m") != 0) return false;
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  body();
  fs::current_path(before);
  umount(folder.c_str());
  fs::remove(folder);
  return true;
}

TEST(Doctor, DiskTakenAwayChangesThatRowAlone) {
  const fs::path folder = fs::temp_directory_path() / ("myxtts-disk-" + std::to_string(getpid()));
  Rows small;
  if (!on_a_small_disk(folder, [&small] { small = doctor_rows(); })) {
    fs::remove(folder);
    GTEST_SKIP() << "only root may mount a small disk; Checklist.DiskTakenAway... covers the rule";
  }
  EXPECT_EQ(changed_rows(doctor_rows(), small), "disk ");
  EXPECT_EQ(small.at("disk").rfind("missing: ", 0), 0u) << small.at("disk");
}

TEST(Doctor, TheBundleHoldsTheTableAndNoNameOfUserHostOrHome) {
  const fs::path folder = fs::temp_directory_path() / ("myxtts-bundle-" + std::to_string(getpid()));
  fs::create_directories(folder / "someones-home/run");
  std::ofstream(folder / "someones-home/run/log.txt")
      << "read " << (folder / "someones-home/corpus").string() << " for somebody\n";
  fs::create_directories(folder / "someones-home/run/gpt");  // a run of several parts
  std::ofstream(folder / "someones-home/run/gpt/metrics.jsonl") << "{\"step\": 7}\n";
  const std::string bundle = (folder / "b.tar").string();
  const auto result =
      run_program({"doctor", "--bundle", bundle, "--run", (folder / "someones-home/run").string()},
                  {.standard_input = {},
                   .environment = {"HOME=" + (folder / "someones-home").string(), "USER=somebody",
                                   "MYXTTS_PRIVATE_MARK=hidden-value"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::ifstream file(bundle, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  fs::remove_all(folder);
  const std::string text = bytes.str();
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  EXPECT_NE(text.find("LibTorch"), std::string::npos);
  EXPECT_NE(text.find("read ~/corpus for <user>"), std::string::npos);
  EXPECT_NE(text.find("run/gpt/metrics.jsonl"), std::string::npos);
  for (const std::string& name : {std::string("someones-home"), std::string("somebody"),
                                  std::string("hidden-value"), std::string(host.data())}) {
    EXPECT_EQ(text.find(name), std::string::npos) << name;
  }
}

TEST(Doctor, PackingARunNeedsABundleToPackItInto) {
  const auto result = run_program({"doctor", "--run", "somewhere"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--bundle"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace myxtts::test::doctor_test
