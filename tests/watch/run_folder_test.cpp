// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "run/run_directory.h"
#include "support/temporary_folder.h"
#include "watch/clip_list.h"
#include "watch/run_finder.h"
#include "watch/run_samples.h"
#include "watch/run_settings.h"
#include "watch/run_state.h"

namespace myxtts::test::run_folder_test {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& file, const std::string& text = "{}\n") {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::vector<std::string> ids_in(const std::vector<fs::path>& folders) {
  std::vector<std::string> ids;
  for (const FoundRun& run : find_runs(folders)) {
    ids.push_back(run.chain.empty() ? run.id : run.id + " of " + run.chain);
  }
  return ids;
}

TEST(RunFinder, FindsRunsAndStagesBelowAFolderAndFollowsNoLink) {
  const TemporaryFolder folder;
  put(folder / "runs/anna/metrics.jsonl");
  put(folder / "runs/old/bert/status.json");
  put(folder / "runs/whole/chain.json");
  put(folder / "runs/whole/config.yaml");
  put(folder / "runs/whole/log.txt");
  put(folder / "runs/whole/gpt/metrics.jsonl");
  put(folder / "runs/.hidden/metrics.jsonl");
  put(folder / "secret/metrics.jsonl");
  fs::create_directory_symlink(folder / "secret", folder / "runs/link");
  fs::create_directories(folder / "runs/empty");
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids_in({folder / "runs"}), (Ids{"anna", "old/bert", "whole/gpt of whole"}));
  EXPECT_EQ(ids_in({folder / "runs/anna"}), Ids{"anna"});
  EXPECT_EQ(ids_in({folder / "runs/whole/"}), Ids{"whole/gpt of whole"});
  EXPECT_EQ(ids_in({folder / "runs", folder / "secret"}),
            (Ids{"runs/anna", "runs/old/bert", "runs/whole/gpt of runs/whole", "secret"}));
  EXPECT_EQ(ids_in({folder / "runs/anna", folder / "runs/anna"}), (Ids{"anna", "anna-2"}));
  EXPECT_EQ(ids_in({folder / "nowhere"}), Ids{});
}

TEST(RunStatus, SaysWhatTheRecordAndTheLockSay) {
  const TemporaryFolder folder;
  const auto state = [&] { return std::string(name_of(RunStatus::of(folder.path(), 1000).state)); };
  EXPECT_EQ(state(), "unknown");
  for (const char* said : {"finished", "stopped", "out-of-time", "failed"}) {
    put(folder / "status.json", std::string(R"({"state":")") + said + "\"}");
    EXPECT_EQ(state(), said);
  }
  put(folder / "status.json", R"({"state":"running","step":7,"updated":999})");
  EXPECT_EQ(state(), "killed") << "nobody holds the lock";
  {
    const RunDirectory held(folder.path());
    EXPECT_EQ(state(), "running");
    put(folder / "status.json", R"({"state":"failed","sentence":"No."})");
    EXPECT_EQ(state(), "preparing") << "a new process has the folder of an old run";
  }
  const RunStatus failed = RunStatus::of(folder.path(), 1000);
  EXPECT_EQ(sentence_of(failed, 7, {}), "No.");
  put(folder / "status.json", "{\"state\":");
  EXPECT_EQ(state(), "unknown");
  EXPECT_TRUE(RunStatus::of(folder.path(), 1000).is_damaged);
}

// Whoever watches must not keep a run from its folder.
TEST(RunStatus, AskingForTheLockNeverRefusesARun) {
  const TemporaryFolder folder;
  put(folder / "lock", "1\n");
  std::atomic<bool> done = false;
  std::thread watcher([&] {
    while (!done) RunStatus::of(folder.path(), 0);
  });
  for (int round = 0; round < 200; ++round) EXPECT_NO_THROW(RunDirectory(folder.path()));
  done = true;
  watcher.join();
}

TEST(KeptSettings, AreReadWithWhereTheyCameFrom) {
  const auto settings = parse_kept_settings(
      "data:\n  train_data: [a, \"b # c\"]   # flag --train-data\n  language: en  # default\n"
      "train:\n  lr: 5e-06\n# a comment: no setting\nstages:\n  dvae:\n    lr: 0.1  # r.yaml:12\n"
      "nonsense\n");
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[0].key, "data.train_data");
  EXPECT_EQ(settings[0].value, "[a, \"b # c\"]");
  EXPECT_EQ(settings[0].origin, "flag --train-data");
  EXPECT_EQ(settings[2].origin, "");
  EXPECT_EQ(settings[3].key, "stages.dvae.lr");
  const auto compared = differences_of({settings, {{"train.lr", "1e-05", "flag"}}});
  EXPECT_EQ(compared["same"], 0);
  EXPECT_EQ(compared["differences"].size(), 4U);
  EXPECT_EQ(compared["differences"][2]["values"], nlohmann::json({"5e-06", "1e-05"}));
  EXPECT_EQ(compared["differences"][0]["values"][1], nullptr);
  EXPECT_EQ(differences_of({settings, settings})["same"], 4);
}

TEST(Samples, AreListedByWhatTheyAreAndNothingElseCanBeAskedFor) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run";
  put(run / "samples/step-0000010/01.txt", "Hello.\n");
  put(run / "samples/step-0000010/01.wav", "sound");
  put(run / "samples/step-0000010/01-original.wav", "sound");
  put(run / "samples/step-0000010/01.png", "picture");
  put(run / "samples/step-0000010/events.out", "other");
  put(run / "samples/step-x/01.wav");
  put(run / "secret.wav");
  put(folder / "outside.wav", "secret");
  fs::create_symlink(folder / "outside.wav", run / "samples/step-0000010/02.wav");
  const auto samples = samples_json(run, "a b", "gpt");
  ASSERT_EQ(samples["measurements"].size(), 1U);
  const auto& first = samples["measurements"][0]["samples"][0];
  EXPECT_EQ(first["text"], "Hello.");
  EXPECT_EQ(first["synthesis"], "/api/sound?id=a%20b&step=10&file=01.wav");
  EXPECT_EQ(first["copy"], nullptr);
  for (const char* part : {"decoder", "dvae"}) {
    const auto copied = samples_json(run, "a", part)["measurements"][0]["samples"][0];
    EXPECT_EQ(copied["synthesis"], nullptr) << part;
    EXPECT_EQ(copied["copy"], "/api/sound?id=a&step=10&file=01.wav") << part;
  }
  EXPECT_TRUE(sample_file(run, "10", "01.wav"));
  for (const auto& [step, file] :
       std::vector<std::pair<std::string, std::string>>{{"10", "02.wav"},
                                                        {"10", "../../secret.wav"},
                                                        {"10", "/etc/passwd"},
                                                        {"10", "01.txt"},
                                                        {"10", "events.out"},
                                                        {"11", "01.wav"},
                                                        {"-10", "01.wav"},
                                                        {"10/..", "01.wav"},
                                                        {"", "01.wav"},
                                                        {"10", ""},
                                                        {"10", "01.wav/../../../secret.wav"},
                                                        {"x", "01.wav"}}) {
    EXPECT_FALSE(sample_file(run, step, file)) << step << " " << file;
  }
}

// What --judge writes beside a sample is shown with it, and is no sample of its own.
TEST(Samples, WhatARecogniserHeardStandsBesideThem) {
  const TemporaryFolder folder;
  const fs::path step = folder / "samples/step-0000010";
  for (const char* name : {"01", "02"}) {
    put(step / (std::string(name) + ".txt"), "Hello.\n");
    put(step / (std::string(name) + ".wav"), "sound");
  }
  put(step / "01-heard.txt", "Hallo.\n");
  put(step / "01.json", R"({"cer": 0.2, "similarity": 0.75, "words": "no number"})");
  const auto samples = samples_json(folder.path(), "run", "gpt")["measurements"][0]["samples"];
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0]["heard"], "Hallo.");
  EXPECT_EQ(samples[0]["scores"], nlohmann::json({{"cer", 0.2}, {"similarity", 0.75}}));
  EXPECT_EQ(samples[1]["heard"], nullptr);
  EXPECT_EQ(samples[1]["scores"], nlohmann::json::object());
  EXPECT_EQ(count_samples(folder.path()).in_newest, 2);
  EXPECT_EQ(count_samples(folder.path()).samples, 2);
}

TEST(ClipLists, NameClipsAndSendNothingButSound) {
  const TemporaryFolder folder;
  put(folder / "secret.txt", "password");
  put(folder / "skipped.jsonl",
      R"({"file":")" + (folder / "secret.txt").string() +
          R"(","manifest":"m.csv","line":3,"reason":"silent","measured":"0"})" + "\n" +
          R"({"file":"gone.wav","reason":"empty"})" + "\nnonsense\n" + R"({"file":"half)");
  ClipList list(folder / "skipped.jsonl");
  list.look();
  EXPECT_EQ(list.size(), 2);
  EXPECT_EQ(list.damaged(), 1);
  const auto json = list.json(0, 10, "", "/api/clip?index=");
  EXPECT_EQ(json["reasons"]["silent"], 1);
  EXPECT_EQ(json["clips"][0]["sound"], "/api/clip?index=0");
  EXPECT_EQ(json["clips"][1]["sound"], nullptr) << "there is no such file";
  EXPECT_EQ(list.json(0, 10, "empty", "")["total"], 1);
  EXPECT_EQ(list.json(1, 1, "", "")["clips"][0]["file"], "gone.wav");
  EXPECT_FALSE(wav_of_file(*list.sound_of(0))) << "text is no sound";
  EXPECT_FALSE(wav_of_file("/dev/zero"));
  EXPECT_FALSE(list.sound_of(2));
}

TEST(Log, IsReadFromItsEndInWholeLines) {
  const TemporaryFolder folder;
  put(folder / "log.txt", "one\ntwo\nthree\nfour");
  const auto tail = log_json(folder / "log.txt", -12);
  EXPECT_EQ(tail["lines"], nlohmann::json({"three"}));
  EXPECT_EQ(tail["to"], 14);
  EXPECT_EQ(log_json(folder / "log.txt", 14)["lines"].size(), 0U) << "its end is not written yet";
  EXPECT_EQ(log_json(folder / "log.txt", 0)["lines"].size(), 3U);
  EXPECT_EQ(log_json(folder / "log.txt", 999)["lines"].size(), 0U);
  EXPECT_EQ(log_json(folder / "none", -5)["size"], 0);
}

}  // namespace
}  // namespace myxtts::test::run_folder_test
