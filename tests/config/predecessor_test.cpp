// SPDX-License-Identifier: Apache-2.0
#include "config/predecessor.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/effective_config.h"
#include "support/temporary_file.h"

namespace myxtts::predecessor_test {
namespace {

EffectiveConfig read(std::string_view yaml) {
  const test::TemporaryFile file(yaml);
  return make_effective_config({.file = file.path()});
}

// What is said, in place of the settings.
std::string complaint(std::string_view yaml) {
  try {
    read(yaml);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Predecessor, KeysWithAnotherNameHereSetWhatTheyMean) {
  const auto config = read(
      "data:\n  dataset_path: lj\n  val_split: 0.1\n  batch_size: 48\n  max_audio_length: 11\n"
      "training:\n  learning_rate: 1e-4\n  gradient_clip_norm: 0.5\n  warmup_steps: 400\n"
      "  gradient_accumulation_steps: 2\n  use_warmup_cosine_schedule: true\n  scheduler: noam\n"
      "  save_step: 250\n  val_step: 50\n  log_step: 7\n  checkpoint_dir: out\n"
      "  early_stopping_patience: 25\n  max_loss_spike_threshold: 2\n");
  const RunConfig& values = config.values;
  EXPECT_EQ(values.data.train_data.at(0).path, "lj");
  EXPECT_EQ(values.data.val_fraction, 0.1);
  EXPECT_EQ(values.data.max_seconds, 11.0);
  EXPECT_EQ(values.train.batch_size, 48);
  EXPECT_EQ(values.train.lr, 1e-4);
  EXPECT_EQ(values.train.grad_clip, 0.5);
  EXPECT_EQ(values.train.warmup_steps, 400) << "the same name, in a section that is not ours";
  EXPECT_EQ(values.train.grad_accum, 2);
  EXPECT_EQ(values.train.schedule, ScheduleKind::Cosine);
  EXPECT_EQ(values.train.spike_factor, 2.0);
  EXPECT_EQ(values.run.save_steps, 250);
  EXPECT_EQ(values.run.eval_steps, 50);
  EXPECT_EQ(values.run.log_steps, 7);
  EXPECT_EQ(values.run.checkpoint_dir, "out");
  EXPECT_EQ(values.run.early_stopping, 25);
  EXPECT_TRUE(describe(config.origin_of("train.lr")).ends_with(":7 as training.learning_rate"));
}

TEST(Predecessor, WhatTheFileLeavesOpenStaysOpen) {
  const auto config = read(
      "data: {dataset_path: lj, metadata_train_file: null, max_text_length: ~}\n"
      "training: {use_warmup_cosine_schedule: false, scheduler_params: {a: [1]}}\n"
      "model: {enable_gradient_checkpointing: false}\n");
  EXPECT_EQ(config.values.data.train_data.at(0).path, "lj");
  EXPECT_FALSE(config.values.train.schedule);
  EXPECT_FALSE(config.values.train.recompute);
}

TEST(Predecessor, AValueThatIsNotAllowedHereHasNoEffectInItsFilesAndIsAnErrorInOurs) {
  const std::string its = "data: {max_text_tokens: 1024, prefetch_buffer_size: 150}\n";
  EXPECT_EQ(read(its + "training: {scheduler: noam}\n").values.data.max_text_tokens, 200);
  EXPECT_NE(complaint(its).find("data.max_text_tokens takes a whole number"), std::string::npos);
  EXPECT_NE(complaint("data: {batch_size: many}\n").find("as data.batch_size"), std::string::npos)
      << complaint("data: {batch_size: many}\n");
}

TEST(Predecessor, AnUnknownKeyOfDataIsLeftAloneInItsFilesAndRefusedInOurs) {
  const std::string data = "data: {foo: {a: [1]}, num_workers: 3}\n";
  const std::string its = "model: {decoder_dim: 4}\n";
  EXPECT_EQ(read(its + data).values.data.num_workers, 3);
  EXPECT_EQ(read(data + its).values.data.num_workers, 3) << "whichever comes first";
  EXPECT_NE(complaint(data).find(":1: There is no setting 'data.foo'"), std::string::npos);
}

TEST(Predecessor, FramesOfSoundAreSeconds) {
  EXPECT_EQ(read("data: {max_mel_frames: 800}\n").values.data.max_seconds, 9.29);
  EXPECT_FALSE(read("data: {max_mel_frames: ~}\n").values.data.max_seconds);
}

TEST(Predecessor, AKeyWithoutMeaningHasAReasonOfItsOwnSubject) {
  const auto says = [](std::string_view key, std::string_view word) {
    return predecessor_key(key)->reason.find(word) != std::string_view::npos;
  };
  EXPECT_TRUE(says("training.early_stopping_min_delta", "run.early_stopping"));
  EXPECT_TRUE(says("training.min_learning_rate", "train.schedule"));
}

TEST(Predecessor, OneSettingUnderTwoNamesIsRefused) {
  for (const char* yaml : {"data: {batch_size: 3}\ntrain: {batch_size: 4}\n",
                           "train: {batch_size: 4}\ndata: {batch_size: 3}\n"}) {
    EXPECT_NE(complaint(yaml).find("train.batch_size stands here a second time"), std::string::npos)
        << complaint(yaml);
  }
}

TEST(Predecessor, OfTwoOfItsKeysForOneSettingTheLaterCounts) {
  EXPECT_EQ(read("training: {learning_rate: 0.001, lr: 0.002}\n").values.train.lr, 0.002);
  EXPECT_EQ(read("training: {learning_rate: 0.001, lr: many}\n").values.train.lr, 0.001)
      << "one without effect does not win";
}

TEST(Predecessor, EveryKeyBelowItsOwnSectionsIsKnownAndNoneOfOursIsTakenForIt) {
  EXPECT_EQ(predecessor_key("model.anything_at_all")->field, nullptr);
  EXPECT_FALSE(predecessor_key("training.anything_at_all")->reason.empty());
  EXPECT_EQ(predecessor_key("training.lr")->field, find_field("train.lr"));
  EXPECT_EQ(predecessor_key("training.keep_last")->field, find_field("run.keep_last"));
  EXPECT_FALSE(predecessor_key("data.anything_at_all"));
  for (const Field& field : all_fields()) EXPECT_FALSE(predecessor_key(field.key)) << field.key;
}

TEST(Predecessor, NamesThatOthersGiveLeadToOurs) {
  const std::vector<std::string> flags = {"--data-gpu",     "--batch-size", "--batch-tokens",
                                          "--lr",           "--train-data", "--grad-accum",
                                          "--reference",    "--out",        "--stage",
                                          "--save-minutes", "--save-steps"};
  for (const auto& [wrong, right] :
       std::vector<std::pair<std::string, std::string>>{{"--learning-rate", "--lr"},
                                                        {"--learning_rate", "--lr"},
                                                        {"--gradient-accumulation", "--grad-accum"},
                                                        {"--data", "--train-data"},
                                                        {"--data-path", "--train-data"},
                                                        {"--batch", "--batch-size"},
                                                        {"--ref", "--reference"},
                                                        {"--save", "--save-steps"},
                                                        {"--size", "--batch-size"},
                                                        {"--output", "--out"},
                                                        {"--batchsize", "--batch-size"}}) {
    EXPECT_EQ(meant_name(wrong, flags), right) << wrong;
  }
  EXPECT_EQ(meant_name("--giraffe", flags), std::nullopt);
  const std::vector<std::string> of_prepare = {"--model", "CORPUS"};
  EXPECT_EQ(meant_name("--data", of_prepare), "CORPUS");
  EXPECT_EQ(meant_name("--model", std::vector<std::string>{"--from", "--out"}), "--from");
}

}  // namespace
}  // namespace myxtts::predecessor_test
