// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "support/corpus_maker.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "text/vocabulary.h"
#include "train/starting_point.h"
#include "weights/tensor_files.h"

namespace myxtts::test::train_test {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

// A machine with the GPUs named, and CUDA that sees what it is shown.
Words machine(const std::string& gpus, const Words& more = {}) {
  Words environment{"MYXTTS_NVML_LIBRARY=" FAKE_NVML, "FAKE_NVML_NAMES=" + gpus,
                    "MYXTTS_CUDA_PLUGIN=" FAKE_CUDA_PLUGIN, "MYXTTS_CUDA_DRIVER=" FAKE_NVML,
                    "FAKE_NVML_ANCESTOR=10"};
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

ProgramResult train(Words flags, const Words& environment) {
  flags.insert(flags.begin(), "train");
  return run_program(flags, {.standard_input = {}, .environment = environment});
}

struct Refusal {
  Words flags;
  Words environment;
  int exit_code;
  std::string words;
};

// Each with the value, what is there, and what to type; never another device in its place.
TEST(Train, WhatCannotBeMeantOrFulfilledIsRefusedWithItsExitCode) {
  const Words one = machine("NVIDIA L4");
  const Words two = machine("NVIDIA H200;NVIDIA L4");
  const Words pair{"--data-gpu", "0", "--model-gpu", "1"};
  const auto capped = [&pair](const std::string& data, const std::string& model) {
    Words flags = pair;
    flags.insert(flags.end(), {"--enable-memory-isolation", "--data-gpu-memory", data,
                               "--model-gpu-memory", model});
    return flags;
  };
  const std::vector<Refusal> refusals = {
      {{"--data-gpu", "1"}, two, 2, "give both, as in --data-gpu 0 --model-gpu 1"},
      {{"--model-gpu", "1"}, two, 2, "data.data_gpu is none"},
      {{"--data-gpu", "1", "--model-gpu", "1"}, two, 2, "--split-gpu 1"},
      {{"--data-gpu=-1", "--model-gpu", "1"}, two, 2, "--data-gpu takes a whole number from 0"},
      {{"--data-gpu", "0", "--model-gpu", "5"},
       two,
       4,
       "Insufficient GPUs for Multi-GPU Mode: --model-gpu 5 is not there"},
      {pair, one, 4, "Insufficient GPUs for Multi-GPU Mode: Multi-GPU requires at least 2 GPUs"},
      {pair, machine("NVIDIA L4", {"MYXTTS_NVML_LIBRARY=libabsent-ml.so.1"}), 4,
       "--data-gpu 0 --model-gpu 1 needs a GPU, but there is no NVIDIA driver"},
      {pair, machine("NVIDIA L4;NVIDIA L4", {"MYXTTS_CUDA_PLUGIN=/no/such.so"}), 4,
       "needs a GPU, but the CUDA plugin is not built"},
      {pair, machine("NVIDIA L4;NVIDIA L4", {"MYXTTS_CUDA_DRIVER=libabsent-cuda.so.1"}), 4,
       "needs a GPU, but there is no NVIDIA driver"},
      {{}, machine("NVIDIA L4", {"MYXTTS_CUDA_PLUGIN=/no/such.so"}), 4, "which CUDA cannot use"},
      {capped("4096", "100000"), two, 4, "--model-gpu-memory 100000 is more than GPU 1"},
      {capped("4096", "1024"), two, 2, "--model-gpu-memory 1024 is less than training needs"},
      {{"--split-gpu", "0:133"}, one, 4, "asks for 133 multiprocessors"},
      {{"--split-gpu", "3"}, one, 4, "--split-gpu 3 is not there"},
      {{"--gpus", "0,2"}, two, 4, "--gpus 2 is not there"},
      {{"--device", "gpu"}, machine(""), 4, "myxtts: --device gpu needs a GPU"},
      {{"--device", "gpu"}, machine(""), 4, "or give --device cpu in place of --device gpu."},
      {{"--device", "gpuu"}, one, 2, "auto, cpu, cuda or gpu"},
      {{"--preset", "two-gpu", "--split-gpu", "0"},
       one,
       2,
       "leave out --split-gpu, or --preset two-gpu."},
      {{"--gpus", "all"}, machine(""), 4, "give --device cpu in place of --gpus all."},
      {{"--gpus", "0,1"}, machine(""), 4, "give --device cpu in place of --gpus 0,1."},
      {{"--gpus", "0,1", "--mode", "auto"}, two, 2, "--mode auto cannot measure"},
      {{"--gpus", "0", "--device", "cpu"}, two, 2, "leave out --gpus"},
      {{"--device", "cpu", "--data-gpu", "0", "--model-gpu", "1"},
       two,
       2,
       "leave out both --data-gpu and --model-gpu or use --device cuda"},
      {{"--device", "cpu", "--split-gpu", "0"}, two, 2, "devices.device is cpu"},
      {{"--device", "cpu", "--transfer-path", "host"}, two, 2, "devices.device is cpu"},
      {pair, machine("NVIDIA L4;NVIDIA L4", {"CUDA_VISIBLE_DEVICES=MIG-1234"}), 4,
       "names a part of a GPU"},
  };
  const TemporaryFolder folder;
  write_tone_corpus(folder / "corpus", 1);
  for (const auto& [flags, environment, exit_code, words] : refusals) {
    Words all = flags;
    all.insert(all.end(),
               {"--quiet", "--train-data", folder / "corpus", "--checkpoint-dir", folder / "run"});
    const auto result = train(all, environment);
    EXPECT_EQ(result.exit_code, exit_code) << words << "\n" << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << words << "\n" << result.err;
    expect_one_sentence(result.err);
  }
}

// Each rank lets CUDA see its own GPU alone, whoever has started it. The fake plugin stops them
// when they open it.
TEST(Train, EachRankOfGpusIsShownItsOwn) {
  const TemporaryFolder folder;
  const std::string corpus =
      make_corpus(folder / "corpus", CorpusLayout::LjSpeech, made_clips(12)).string();
  const std::string log = (folder / "shown").string();
  const Words three = machine("NVIDIA L4;NVIDIA L4;NVIDIA L4", {"FAKE_CUDA_LOG=" + log});
  const Words flags{
      "--model-size", "tiny",    "--batch-size",   "2", "--train-data", corpus, "--checkpoint-dir",
      folder / "run", "--quiet", "--rank-timeout", "60"};
  const auto shown = [&](Words words) {
    fs::remove(log);
    words.insert(words.end(), flags.begin(), flags.end());
    const auto result = run_program(words, {.standard_input = {}, .environment = three});
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_NE(result.err.find("The fake plugin has no streams."), std::string::npos) << result.err;
    std::set<std::string> lines;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) lines.insert(line);
    return lines;
  };
  const std::set<std::string> first_and_last = shown({"train", "--gpus", "0,2"});
  EXPECT_EQ(first_and_last.size(), 2U);
  EXPECT_EQ(shown({"launch", "--gpus", "0,2", "--", "train"}), first_and_last);
  EXPECT_EQ(shown({"launch", "--ranks", "2", "--", "train", "--gpus", "0,2"}), first_and_last);
  EXPECT_EQ(shown({"launch", "--gpus", "all", "--", "train"}).size(), 3U);
  EXPECT_NE(shown({"launch", "--ranks", "2", "--", "train"}), first_and_last) << "the first two";
}

// A tiny model with its vocabulary, and a corpus of forty clips.
class DryRun : public testing::Test {
 protected:
  DryRun() {
    const fs::path golden = std::getenv("MYXTTS_TEST_DATA");
    const Vocabulary words = Vocabulary::load(golden / "golden/text/vocab.json");
    const ModelConfig tiny = new_model_config(
        "tiny", {.count = words.rows(), .start = words.start(), .stop = words.stop()});
    const fs::path model = folder_ / "model";
    fs::create_directory(model);
    std::ofstream(model / "config.json") << print_model_config(tiny);
    auto tensors = initialise(checkpoint_specs(tiny), 3);
    for (const auto& [name, table] : speaker_encoder_tables(tiny.speaker_encoder)) {
      tensors.emplace(kSpeakerEncoderPrefix + name, table);
    }
    write_tensors(model / "model.safetensors", tensors);
    write_tensors(model / "dvae.safetensors", initialise(dvae_specs(tiny.dvae), 4));
    fs::copy_file(golden / "golden/text/vocab.json", model / "vocab.json");
    make_corpus(folder_ / "corpus", CorpusLayout::LjSpeech, made_clips(40));
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  ProgramResult check(const Words& more, const Words& environment) const {
    Words flags{"--dry-run",    "--quiet",      "--init",           path("model"),
                "--train-data", path("corpus"), "--checkpoint-dir", path("run")};
    flags.insert(flags.end(), more.begin(), more.end());
    Words with_cache = environment;
    with_cache.push_back("XDG_CACHE_HOME=" + path("cache"));
    return train(flags, with_cache);
  }

  TemporaryFolder folder_;
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST_F(DryRun, ARunOnTheCpuThatCanStartPassesEveryCheck) {
  const auto result = check({"--device", "cpu", "--batch-size", "4", "--epochs", "3"}, machine(""));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "Device plan: cpu")) << result.out;
  for (const char* name :
       {"devices", "model", "corpus", "batch", "host memory", "disk", "length"}) {
    EXPECT_TRUE(has(result.out, std::string("  PASS  ") + name)) << name << "\n" << result.out;
  }
  EXPECT_TRUE(has(result.out, "36 clips") && has(result.out, ", 4 to measure on")) << result.out;
  EXPECT_TRUE(has(result.out, "3 epochs of 9 batches: 27 steps")) << result.out;
  EXPECT_TRUE(has(result.out, "What can be checked before a run is in order.")) << result.out;
  EXPECT_FALSE(fs::exists(folder_ / "run")) << "nothing is left there";
  const fs::recursive_directory_iterator kept(folder_ / "cache/myxtts");
  EXPECT_TRUE(std::any_of(begin(kept), end(kept), [](const auto& entry) {
    return entry.path().filename() == "skipped.jsonl";
  })) << "as prepare has it";
}

TEST_F(DryRun, EveryStageIsLookedAtAndItsStepsAreHeldAgainstItsLength) {
  const auto result = check({"--stages",       "dvae,gpt", "--stage-budget", "dvae=1000@1h",
                             "--data-gpu",     "3",        "--model-gpu",    "2",
                             "--epochs",       "2",        "--warmup-steps", "1000",
                             "--eval-steps",   "500",      "--save-steps",   "5000",
                             "--save-minutes", "none",     "--val-fraction", "0.05"},
                            machine("NVIDIA L4;NVIDIA L4;NVIDIA L4;NVIDIA L4"));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto second = result.out.find("Stage 2 of 2: gpt");
  ASSERT_NE(second, std::string::npos) << result.out;
  EXPECT_TRUE(has(result.out, "Stage 1 of 2: dvae")) << result.out;
  for (const std::string& part : {result.out.substr(0, second), result.out.substr(second)}) {
    for (const char* words : {"PASS  devices", "PASS  corpus", "WARN  warm-up", "WARN  measuring",
                              "WARN  saving", "Give --warmup-steps "}) {
      EXPECT_TRUE(has(part, words)) << words << "\n" << part;
    }
  }
}

// What the run would refuse at its start, each where it belongs, and what is sound beside it.
TEST_F(DryRun, WhatTheRunWouldRefuseFailsAndNothingElseIsBlamed) {
  const std::string nowhere = path("nowhere");
  std::ofstream(folder_ / "file") << "x";
  const std::string below = path("file") + "/cache";
  const Words cpu{"--device", "cpu", "--batch-size", "4"};
  const auto expect_fault = [&](const Words& more, const std::string& line) {
    Words flags = cpu;
    flags.insert(flags.end(), more.begin(), more.end());
    const auto result = check(flags, machine(""));
    EXPECT_EQ(result.exit_code, 1) << line << "\n" << result.out;
    EXPECT_TRUE(has(result.out, "  FAIL  " + line)) << line << "\n" << result.out;
    EXPECT_TRUE(has(result.out, "  PASS  corpus")) << result.out;
    EXPECT_TRUE(has(result.out, "The run would not work: 1 of ")) << result.out;
  };
  expect_fault({"--test-sentences", nowhere}, "settings     The file of sentences " + nowhere);
  expect_fault({"--trace", nowhere + "/x.json"}, "settings     --trace " + nowhere);
  expect_fault({"--cache-dir", below}, "settings     --cache-dir " + below);
  expect_fault({"--freeze", "gpt.nothing.*"}, "model        --freeze gpt.nothing.* fits no");
  expect_fault({"--model-size", "small"}, "model        --model-size small was asked for but");
  expect_fault({"--resume", "17"}, "run directory  There is no checkpoint ");
  ModelConfig other = parse_model_config(contents_of(folder_ / "model/config.json"), "");
  ++other.gpt.start_text;
  std::ofstream(folder_ / "model/config.json") << print_model_config(other);
  expect_fault({}, "model        " + path("model") + "/vocab.json has [START] ");
}

TEST_F(DryRun, OnlyTheChosenGpusAreShownToCuda) {
  const Words environment =
      machine("NVIDIA L4;NVIDIA L4;NVIDIA L4;NVIDIA L4", {"FAKE_CUDA_LOG=" + path("opened")});
  const auto result = check({"--data-gpu", "3", "--model-gpu", "2"}, environment);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(contents_of(folder_ / "opened"), "GPU-00000003,GPU-00000002\n");
  EXPECT_TRUE(has(result.out, "dual: data on GPU 3 (NVIDIA L4), model on GPU 2 (NVIDIA L4)"))
      << result.out;
}

TEST_F(DryRun, WithAListOfVisibleDevicesBothNumbersAreShown) {
  const Words environment =
      machine("NVIDIA L4;NVIDIA L4;NVIDIA L4;NVIDIA L4",
              {"CUDA_VISIBLE_DEVICES=2,3", "FAKE_CUDA_LOG=" + path("opened")});
  const auto result = check({"--data-gpu", "0", "--model-gpu", "1"}, environment);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(contents_of(folder_ / "opened"), "GPU-00000002,GPU-00000003\n");
  EXPECT_TRUE(has(result.out, "GPU 1 (nvidia-smi's 3)")) << result.out;
  EXPECT_TRUE(has(result.out,
                  "data on GPU 0 (nvidia-smi's 2, NVIDIA L4), model on GPU 1 "
                  "(nvidia-smi's 3, NVIDIA L4)"))
      << result.out;
  EXPECT_TRUE(has(result.out, "free on GPU 1 (nvidia-smi's 3, NVIDIA L4)")) << result.out;
}

TEST_F(DryRun, ARunOnTheCpuOpensNoCuda) {
  const auto result =
      check({"--device", "cpu"}, machine("NVIDIA L4", {"FAKE_CUDA_LOG=" + path("opened")}));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "opened"));
}

TEST_F(DryRun, EveryFaultIsALineAndTheOthersAreStillChecked) {
  Words flags{"--dry-run",        "--quiet",
              "--init",           path("nowhere"),
              "--train-data",     path("no corpus"),
              "--checkpoint-dir", path("run"),
              "--data-gpu",       "0",
              "--model-gpu",      "1"};
  const auto result = train(flags, machine("NVIDIA L4"));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_TRUE(has(result.out, "FAIL  devices  Insufficient GPUs for Multi-GPU Mode")) << result.out;
  EXPECT_TRUE(has(result.out, "FAIL  model")) << result.out;
  EXPECT_TRUE(has(result.out, "FAIL  corpus")) << result.out;
  EXPECT_TRUE(has(result.out, "The run would not work: 3 of 3 checks failed.")) << result.out;
}

// What the error of one GPU says to type is accepted, whoever asked for two.
TEST_F(DryRun, TheRemediesOfOneGpuAreAccepted) {
  const Words one = machine("NVIDIA L4");
  const auto check_on_one = [&](const Words& flags) { return check(flags, one); };
  const auto refused = check_on_one({"--preset", "two-gpu"});
  EXPECT_EQ(refused.exit_code, 1);
  std::smatch said;
  const std::regex remedies("leave out (.*) to use it alone, or give (\\S+) (\\S+) instead");
  ASSERT_TRUE(std::regex_search(refused.out, said, remedies)) << refused.out;
  EXPECT_EQ(said[1], "--preset two-gpu") << "what was typed";
  for (const auto& [flags, plan] :
       std::vector<std::pair<Words, std::string>>{{{said[2], said[3]}, "split"}, {{}, "single"}}) {
    const auto result = check_on_one(flags);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_TRUE(has(result.out, "Device plan: " + plan)) << result.out;
  }
}

TEST(Train, AnErrorSaysWhereASettingComesFromThatNobodyTyped) {
  const auto result = train({"--preset", "one-gpu", "--train-data", "x"},
                            machine("NVIDIA L4", {"MYXTTS_NVML_LIBRARY=libabsent-ml.so.1"}));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(has(result.err, "--mode single (preset one-gpu) needs a GPU")) << result.err;
  EXPECT_TRUE(has(result.err, "or give --device cpu in place of --preset one-gpu.")) << result.err;
}

TEST_F(DryRun, ARunDirectoryThatCannotBeWrittenIsTheDisksFaultAndAWrongScriptIsWarnedOf) {
  std::ofstream(folder_ / "file") << "x";
  std::ofstream table(folder_ / "corpus/metadata.csv", std::ios::app);
  for (int clip = 0; clip < 40; ++clip) {
    table << fmt::format("clip{:02}|это предложение для проверки\n", clip);
    write_tone(folder_ / fmt::format("corpus/wavs/clip{:02}.wav", clip), 200.0, 2.0);
  }
  table.close();
  const auto result =
      train({"--dry-run", "--quiet", "--init", path("model"), "--train-data", path("corpus"),
             "--device", "cpu", "--checkpoint-dir", path("file") + "/run"},
            machine(""));
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "PASS  corpus")) << result.out;
  EXPECT_TRUE(has(result.out, "FAIL  disk")) << result.out;
  EXPECT_TRUE(has(result.out, path("file") + ": it is not a folder")) << result.out;
  EXPECT_TRUE(has(result.err, "40 of 80 transcripts of " + path("corpus") +
                                  " are written in Cyrillic script, which en does not use: give "
                                  "--language ru"))
      << result.err;
}

// The stand-in for CUDA opens, and has no streams: what is said until then has become true by then,
// and nothing is said of what comes after.
TEST_F(DryRun, ARunOnTwoGpusSaysWhatItDoesInTheWordsThatPeopleLookFor) {
  const auto result =
      train({"--model-size", "tiny", "--train-data", path("corpus"), "--checkpoint-dir",
             path("run"), "--data-gpu", "0", "--model-gpu", "1"},
            machine("NVIDIA L4;NVIDIA L4"));
  EXPECT_EQ(result.exit_code, 4) << result.err;
  for (const char* words : {"Configuring Multi-GPU Mode", "Data Processing GPU: 0 (NVIDIA L4)",
                            "Model Training GPU: 1 (NVIDIA L4)",
                            "Set visible devices: GPU 0 and GPU 1 (GPU-00000000,GPU-00000001)",
                            "Multi-GPU configuration completed successfully"}) {
    EXPECT_TRUE(has(result.err, words)) << words << "\n" << result.err;
  }
  EXPECT_FALSE(has(result.err, "Creating model on device")) << result.err;
  EXPECT_FALSE(has(result.err, "Starting training")) << result.err;
}

TEST_F(DryRun, ABatchLargerThanTheCorpusIsNotJudgedForMemory) {
  const Words large{"--batch-size", "4000"};
  Words capped = large;
  capped.insert(capped.end(), {"--split-gpu", "0", "--enable-memory-isolation", "--data-gpu-memory",
                               "4096", "--model-gpu-memory", "12288"});
  for (const Words& flags : {large, capped}) {
    const auto result = check(flags, machine("NVIDIA L4"));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_TRUE(has(result.out, "PASS  devices")) << result.out;
    EXPECT_TRUE(has(result.out, "WARN  batch")) << result.out;
    EXPECT_TRUE(has(result.out, "a batch of 4,000 clips is larger than the corpus")) << result.out;
    EXPECT_TRUE(has(result.out, "Give --batch-size 36\n")) << result.out;
    EXPECT_FALSE(has(result.out + result.err, "by estimate; give a smaller")) << result.out;
    EXPECT_TRUE(has(result.out, "The run can start; read the 1 warning above first."))
        << result.out;
    EXPECT_FALSE(has(result.out, "is in order")) << result.out;
  }
  // The run itself is planned with no more, too: it gets as far as the stand-in for CUDA.
  Words begun{"--quiet",      "--init",           path("model"), "--train-data",
              path("corpus"), "--checkpoint-dir", path("run")};
  begun.insert(begun.end(), capped.begin(), capped.end());
  const auto run = train(begun, machine("NVIDIA L4"));
  EXPECT_EQ(run.exit_code, 4) << run.err;
  EXPECT_TRUE(has(run.err, "The fake plugin has no streams.")) << run.err;
}

TEST(LazyCuda, CommandsThatComputeNothingOnAGpuDoNotOpenCuda) {
  const TemporaryFolder folder;
  const std::string log = (folder / "opened").string();
  const Words environment = machine("NVIDIA L4", {"FAKE_CUDA_LOG=" + log});
  for (const Words& command : {Words{"config"}, Words{"tokenize", "--language", "en", "--split"}}) {
    const auto result =
        run_program(command, {.standard_input = "Hello.\n", .environment = environment});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_FALSE(fs::exists(folder / "opened"));
  run_program({"--version"}, {.standard_input = {}, .environment = environment});
  EXPECT_TRUE(fs::exists(folder / "opened"));  // the fake does tell
}

}  // namespace
}  // namespace myxtts::test::train_test
