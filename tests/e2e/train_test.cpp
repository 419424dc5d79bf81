// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <set>

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
      {{"--data-gpu", "0", "--model-gpu", "5"}, two, 4, "--model-gpu 5 is not there"},
      {pair, one, 4, "Multi-GPU requires at least 2 GPUs, found 1"},
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
      {{"--gpus", "all"}, machine(""), 4, "--gpus all needs a GPU"},
      {{"--gpus", "0,1", "--mode", "auto"}, two, 2, "--mode auto cannot measure"},
      {{"--gpus", "0", "--device", "cpu"}, two, 2, "leave out --gpus"},
      {{"--device", "cpu", "--data-gpu", "0", "--model-gpu", "1"}, two, 2, "devices.device is cpu"},
      {{"--device", "cpu", "--split-gpu", "0"}, two, 2, "devices.device is cpu"},
      {{"--device", "cpu", "--transfer-path", "host"}, two, 2, "devices.device is cpu"},
      {pair, machine("NVIDIA L4;NVIDIA L4", {"CUDA_VISIBLE_DEVICES=MIG-1234"}), 4,
       "names a part of a GPU"},
  };
  const TemporaryFolder folder;
  for (const auto& [flags, environment, exit_code, words] : refusals) {
    Words all = flags;
    all.insert(all.end(),
               {"--quiet", "--train-data", folder.path(), "--checkpoint-dir", folder / "run"});
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
    const ModelConfig tiny = model_preset("tiny");
    const fs::path model = folder_ / "model";
    fs::create_directory(model);
    std::ofstream(model / "config.json") << print_model_config(tiny);
    auto tensors = initialise(checkpoint_specs(tiny), 3);
    for (const auto& [name, table] : speaker_encoder_tables(tiny.speaker_encoder)) {
      tensors.emplace(kSpeakerEncoderPrefix + name, table);
    }
    write_tensors(model / "model.safetensors", tensors);
    write_tensors(model / "dvae.safetensors", initialise(dvae_specs(tiny.dvae), 4));
    fs::copy_file(fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden/text/vocab.json",
                  model / "vocab.json");
    make_corpus(folder_ / "corpus", CorpusLayout::LjSpeech, made_clips(40));
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  ProgramResult check(const Words& more, const Words& environment) const {
    Words flags{"--dry-run",    "--quiet",      "--init",           path("model"),
                "--train-data", path("corpus"), "--checkpoint-dir", path("run")};
    flags.insert(flags.end(), more.begin(), more.end());
    return train(flags, environment);
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
  EXPECT_TRUE(has(result.out, "40 clips") || has(result.out, "39 clips")) << result.out;
  EXPECT_TRUE(has(result.out, "3 epochs of 10 batches: 30 steps")) << result.out;
  EXPECT_TRUE(has(result.out, "What can be checked before a run is in order.")) << result.out;
  EXPECT_FALSE(fs::exists(folder_ / "run/plan.json"));
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
  EXPECT_TRUE(has(result.out, "FAIL  devices  Multi-GPU requires at least 2 GPUs, found 1"))
      << result.out;
  EXPECT_TRUE(has(result.out, "FAIL  model")) << result.out;
  EXPECT_TRUE(has(result.out, "FAIL  corpus")) << result.out;
  EXPECT_TRUE(has(result.out, "The run would not work: 3 of 3 checks failed.")) << result.out;
}

TEST_F(DryRun, ABatchThatDoesNotFitIsAFailureThatSaysWhatWould) {
  const auto result = check({"--batch-size", "4000"}, machine("NVIDIA L4"));
  EXPECT_EQ(result.exit_code, 1) << result.out << result.err;
  EXPECT_TRUE(has(result.out, "FAIL  batch")) << result.out;
  EXPECT_TRUE(has(result.out, "Give --batch-size ")) << result.out;
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
