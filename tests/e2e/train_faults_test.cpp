// SPDX-License-Identifier: Apache-2.0
//
// What disks do to a training run, and what the run makes of it.
#include <sys/mount.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include <ATen/ATen.h>

#include "e2e/training_bench.h"
#include "run/sealed_folder.h"
#include "support/one_sentence.h"
#include "support/small_disk.h"
#include "support/tone_corpus.h"
#include "weights/tensor_files.h"

namespace myxtts::test::train_faults_test {
namespace {

namespace fs = std::filesystem;

class TrainFaults : public TrainingBench {
 protected:
  // A run that saves every second step.
  static Words steps(int count, const Words& more = {}) {
    Words words{"--max-steps", std::to_string(count), "--save-steps", "2", "--val-fraction", "0"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  fs::path checkpoint(const std::string& run, int step) const {
    return path(run) / "checkpoints" / ("step-000000" + std::to_string(step));
  }

  void expect_same_weights(const fs::path& run, const fs::path& other) const {
    for (const char* file : {"model.safetensors", "optimiser.safetensors"}) {
      EXPECT_TRUE(contents_of(run / "latest" / file) == contents_of(other / "latest" / file))
          << file;
    }
  }
};

// What --dry-run says of a check, which is named as in "PASS  disk".
std::string finding_of(const std::string& check, const std::string& out) {
  const auto name = out.find("  " + check + " ");
  const auto end = out.find('\n', name);
  const auto start = out.find_first_not_of(' ', name + 2 + check.size());
  return name == std::string::npos ? "" : out.substr(start, end - start);
}

void flip_a_bit(const fs::path& file) {
  std::string bytes = contents_of(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  // In a new file: the old one may be linked to from elsewhere.
  fs::remove(file);
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST_F(TrainFaults, AFlippedBitIsSaidAndTheCheckpointBeforeGoesOnToTheSameBits) {
  trained("whole", steps(8));
  trained("run", steps(6));
  fs::copy(path("run"), path("copy"),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  flip_a_bit(checkpoint("run", 6) / "model.safetensors");
  const auto result = trained("run", steps(8, {"--resume"}));
  EXPECT_TRUE(
      has(result.err, "step-0000006 is damaged and passed over: model.safetensors was changed"))
      << result.err;
  EXPECT_TRUE(has(result.err, "continuing at step 4")) << result.err;
  expect_same_weights(path("run"), path("whole"));
  EXPECT_EQ(curve("run", "step"), curve("whole", "step"));
  EXPECT_EQ(curve("run", "loss"), curve("whole", "loss"));

  // A checkpoint that was asked for is not passed over.
  flip_a_bit(checkpoint("copy", 4) / "optimiser.safetensors");
  const auto refused = train("copy", {"--quiet", "--resume", "4"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_TRUE(has(refused.err, "optimiser.safetensors was changed")) << refused.err;
}

// A state that says what cannot be, under a seal that fits.
TEST_F(TrainFaults, AForgedPositionAndAWeightThatIsNotANumberAreDamageAndNoBug) {
  trained("run", steps(2));
  const fs::path folder = checkpoint("run", 2);
  const auto forge = [&](const std::string& from, const std::string& to) {
    std::string state = contents_of(folder / "state.json");
    state.replace(state.find(from), from.size(), to);
    fs::remove(folder / "state.json");
    std::ofstream(folder / "state.json") << state;
    fs::remove(folder / kChecksums);
    seal_folder({.folder = folder, .step = 2});
    return train("run", steps(4, {"--quiet", "--resume"}));
  };
  const auto far = forge("\"epoch_batches\": 2", "\"epoch_batches\": 2147483648");
  EXPECT_EQ(far.exit_code, 3) << far.err;
  EXPECT_TRUE(has(far.err,
                  "The checkpoint of step 2 is damaged: its state.json says that "
                  "2147483648 batches of epoch 1 were trained"))
      << far.err;
  const auto negative = forge("\"epoch_batches\": 2147483648", "\"epoch_batches\": -1");
  EXPECT_EQ(negative.exit_code, 3) << negative.err;
  EXPECT_TRUE(has(negative.err, "gives \"epoch_batches\" a value that is no count"))
      << negative.err;

  auto weights = read_tensors(folder / "model.safetensors");
  weights.at("gpt.gpt.ln_f.bias") = at::full_like(weights.at("gpt.gpt.ln_f.bias"), NAN);
  write_tensors(folder / "other", weights);
  fs::rename(folder / "other", folder / "model.safetensors");
  const auto broken = forge("\"epoch_batches\": -1", "\"epoch_batches\": 2");
  EXPECT_EQ(broken.exit_code, 3) << broken.err;
  EXPECT_TRUE(has(broken.err, "model.safetensors is damaged: its tensor gpt.gpt.ln_f.bias"))
      << broken.err;
}

TEST_F(TrainFaults, AFullDiskDoesNotStopTrainingAndTheRunGoesOnOnceThereIsRoom) {
  trained("whole", steps(6));
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path("whole") / "latest")) {
    bytes += entry.file_size();
  }
  // Room for what a run begins with and one checkpoint, but not for two.
  const SmallDisk disk(static_cast<int>(bytes * 3 / 2 / 1024));
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const auto full = train("run", steps(6, {"--checkpoint-dir", disk / "run"}));
  EXPECT_EQ(full.exit_code, 3) << full.err;
  EXPECT_TRUE(has(full.err, "The checkpoint of step 4 was not saved")) << full.err;
  EXPECT_TRUE(has(full.err, "The checkpoint of step 6 was not saved")) << full.err;
  EXPECT_TRUE(has(full.err, "(see df -h " + (disk / "run/checkpoints").string() + ")")) << full.err;
  EXPECT_TRUE(has(full.err, "the run goes on from that of step 2, which is whole. Make room, then"))
      << full.err;
  EXPECT_EQ(fs::read_symlink(disk / "run/latest"), "checkpoints/step-0000002");

  ASSERT_EQ(::mount("none", disk.path().c_str(), "tmpfs", MS_REMOUNT, "size=90%"), 0);
  const auto again = train("run", steps(6, {"--checkpoint-dir", disk / "run", "--resume"}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(has(again.err, "continuing at step 2")) << again.err;
  expect_same_weights(disk / "run", path("whole"));
}

TEST_F(TrainFaults, AChainOnAFullDiskNamesTheCommandThatContinuesTheChain) {
  // Room for what a stage begins with, but for no checkpoint.
  const SmallDisk disk(30 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a small disk";
  const Words words = steps(2, {"--stages", "gpt", "--checkpoint-dir", disk / "run"});
  Words check = words;
  check.insert(check.end(), {"--dry-run", "--quiet", "--cache-dir", path("cache")});
  const std::string said = finding_of("FAIL  disk", train("run", check).out);
  EXPECT_TRUE(has(said, " free at ")) << said;
  const auto full = train("run", words);
  EXPECT_EQ(full.exit_code, 3) << full.err;
  // The run says it before the corpus is read, so that its vocabulary is not learnt yet.
  EXPECT_TRUE(has(full.err, "warning: train: " + said.substr(0, said.find(',')))) << said << "\n"
                                                                                  << full.err;
  EXPECT_TRUE(has(contents_of(disk / "run/log.txt"), said.substr(0, said.find(','))));
  EXPECT_TRUE(has(full.err, "none was saved before it, so that the run begins again. Make room"))
      << full.err;
  EXPECT_TRUE(has(full.err, "The last checkpoint, of step 2, could not be written")) << full.err;
  EXPECT_TRUE(has(
      full.err, "type: myxtts train --config " + (disk / "run").string() + "/config.yaml --resume"))
      << full.err;
  EXPECT_FALSE(has(full.err, "run/gpt/config.yaml")) << full.err;
}

TEST_F(TrainFaults, ADryRunOfSeveralStagesAddsUpTheirRoomAndSeesThatOneSpeakerIsTooFew) {
  const auto result =
      train("run", {"--dry-run", "--quiet", "--stages", "dvae,speaker,gpt,decoder"});
  EXPECT_EQ(result.exit_code, 1) << result.out;
  EXPECT_TRUE(has(result.out, "FAIL  speakers     The corpus has one speaker")) << result.out;
  EXPECT_TRUE(result.out.ends_with("The stages would not run: of one above a check failed.\n"))
      << result.out;
  std::set<std::string> models;
  std::string rest = result.out;
  for (int stage = 1; stage <= 4; ++stage) {
    models.insert(finding_of("PASS  model", rest));
    EXPECT_EQ(has(finding_of("PASS  disk", rest), " of the parts before among it"), stage > 1)
        << rest;
    rest.erase(0, rest.find("\nStage ", 1) + 1);
  }
  EXPECT_EQ(models.size(), 4U) << result.out;
}

TEST_F(TrainFaults, ARunThatTheClipsLetNotBeginLeavesTheListOfThemAlone) {
  for (int i = 0; i < 4; ++i) {
    add_line(path("corpus"), "lost" + std::to_string(i), "sixteen letters or so");
  }
  for (const Words& more : {Words{"--quiet"}, Words{"--quiet", "--stages", "dvae,gpt"}}) {
    const auto refused = train("run", more);
    EXPECT_EQ(refused.exit_code, 3) << refused.err;
    EXPECT_TRUE(has(refused.err, "4 of 20 clips cannot be used")) << refused.err;
    EXPECT_TRUE(has(refused.err, "That list is all that is kept of the run.")) << refused.err;
    std::vector<fs::path> left;
    for (const auto& entry : fs::recursive_directory_iterator(path("run"))) {
      if (entry.is_regular_file()) left.push_back(entry.path().filename());
    }
    EXPECT_EQ(left, std::vector<fs::path>{"skipped.jsonl"});
    fs::remove_all(path("run"));
  }
}

TEST_F(TrainFaults, CorporaWithNothingToTrainOnLeaveNothing) {
  fs::create_directories(path("mute") / "wavs");
  for (int i = 0; i < 16; ++i) {  // silence is not in a header
    write_tone(path("mute") / "wavs" / fmt::format("clip{}.wav", i), 500.0, 1.3, 0.0);
    add_line(path("mute"), fmt::format("clip{}", i), "sixteen letters or so");
  }
  const auto silent = train("run", {"--quiet", "--train-data", path("mute")});
  EXPECT_EQ(silent.exit_code, 3) << silent.err;
  EXPECT_TRUE(has(silent.err, "clips to train on can be used (") && has(silent.err, " silent)"))
      << silent.err;
  EXPECT_FALSE(fs::exists(path("run")));

  std::string wide;  // UTF-16
  for (const char c : contents_of(path("mute") / "metadata.csv")) wide += {c, '\0'};
  std::ofstream(path("mute") / "metadata.csv", std::ios::binary) << "\xff\xfe" << wide;
  const auto refused = train("run", {"--quiet", "--train-data", path("mute")});
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_TRUE(has(refused.err, "metadata.csv")) << refused.err;
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(TrainFaults, AReadOnlyRunDirectoryIsRefusedInOneSentence) {
  SmallDisk disk(100);
  if (!disk.mounted() || !disk.make_read_only()) {
    GTEST_SKIP() << "this user may not mount a read-only disk";
  }
  const auto result = train("run", {"--quiet", "--checkpoint-dir", disk / "run"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "read-only") && has(result.err, "--checkpoint-dir")) << result.err;
  expect_one_sentence(result.err);
}

TEST_F(TrainFaults, ClipsThatOnlyDecodingShowsToBeBadAreListedThoseToMeasureOnToo) {
  write_tone_corpus(path("held back"), 12);
  for (const char* folder : {"corpus", "held back"}) {  // silence is not in a header
    write_tone(path(folder) / "wavs/silent.wav", 500.0, 1.3, 0.0);
    add_line(path(folder), "silent", "sixteen letters or so");
  }
  trained("run", {"--val-data", path("held back"), "--max-steps", "5", "--eval-steps", "5",
                  "--max-skipped", "0.5"});
  const auto list = contents_of(path("run") / "skipped.jsonl");
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 2) << list;
  for (const char* folder : {"corpus", "held back"}) {
    EXPECT_TRUE(has(list, (path(folder) / "wavs/silent.wav").string())) << list;
  }
}

TEST_F(TrainFaults, AMistypedCorpusLeavesNothingBehind) {
  const auto expect_refused = [this](const Words& more, const std::string& words) {
    const auto result = train("run", more);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_TRUE(has(result.err, words)) << result.err;
    EXPECT_FALSE(fs::exists(path("run"))) << more[0];
  };
  for (const Words& more :
       {Words{"--train-data", path("corpsu")}, Words{"--val-data", path("corpsu")},
        Words{"--stages", "dvae,gpt", "--train-data", path("corpsu")}}) {
    expect_refused(more, "There is no corpus " + path("corpsu").string());
  }
  expect_refused({"--test-sentences", path("sentenses.txt")}, "sentenses.txt does not exist");
  const fs::path long_one = path("talk");
  fs::create_directories(long_one / "wavs");
  write_tone(long_one / "wavs/talk.wav", 200.0, 30.0);
  add_line(long_one, "talk", "a long talk that nobody cut into clips yet, with many words");
  for (const Words& more : {Words{}, Words{"--stages", "dvae,gpt"}}) {
    Words words{"--train-data", long_one};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(words, "The only clip cannot be used (1 audio-too-long). " +
                              (long_one / "wavs/talk.wav").string() +
                              " is too long to learn from (30.00 s, at most 11.61 s). Have "
                              "it cut into clips with their texts (myxtts clips ");
  }
  expect_refused(
      {"--train-data", path("corpus") / "wavs"},
      "wavs is the inside of a corpus: name the folder above it, " + path("corpus").string());
  fs::create_directories(path("shelf"));
  fs::rename(path("corpus"), path("shelf") / "anna");
  expect_refused(
      {"--train-data", path("shelf")},
      "shelf is no corpus itself: name the one in it, " + (path("shelf") / "anna").string());
  fs::remove(long_one / "wavs/talk.wav");
  expect_refused({"--train-data", long_one}, "wavs is empty");
  fs::remove(long_one / "wavs");
  expect_refused({"--train-data", long_one}, "there is no folder ");
  const auto odd = train("run", {"--train-data", "caf\xe9"});
  EXPECT_EQ(odd.exit_code, 2) << odd.err;
  EXPECT_TRUE(has(odd.err, "--train-data was given 'caf\\xe9', which is not UTF-8")) << odd.err;
}

}  // namespace
}  // namespace myxtts::test::train_faults_test
