// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/run_checklist.h"

#include <map>

#include <gtest/gtest.h>

#include "diagnose/memory/memory_plan.h"
#include "support/fake_gpus.h"

namespace myxtts::run_checklist_test {
namespace {

// A run of the public model on an H200 that lacks nothing.
RunFacts good_run() {
  const ModelConfig model = model_preset("xtts-v2");
  const Machine machine = test::FakeGpus{}.h200().machine;
  RunFacts facts{.machine = machine};
  facts.plan = plan_devices(facts.config, machine, usual_memory_model(model));
  facts.model = model;
  facts.model_source = "models/xtts-v2";
  facts.corpus = CorpusFacts{.training_clips = 12'969,
                             .validation_clips = 131,
                             .left_out = 2,
                             .training_hours = 23.7,
                             .source_bytes = 3'800'000'000,
                             .batches_per_epoch = 406,
                             .largest_batch = usual_batch(model.gpt, 32),
                             .useful_share = 0.986};
  facts.disk = {.folder = "/runs", .total_bytes = 1'000'000'000'000, .free_bytes = 500'000'000'000};
  return facts;
}

std::map<std::string, Check> rows(const RunFacts& facts) {
  std::map<std::string, Check> rows;
  for (const Check& check : check_run(facts)) rows[check.name] = check;
  return rows;
}

TEST(RunChecklist, ARunThatLacksNothingPasses) {
  const auto checks = check_run(good_run());
  EXPECT_EQ(checks.size(), 7u);
  for (const Check& check : checks) {
    EXPECT_EQ(check.verdict, Verdict::Pass) << check.name << ": " << check.found;
  }
  EXPECT_TRUE(all_passed(checks));
  auto found = rows(good_run());
  EXPECT_EQ(found["model"].found,
            "models/xtts-v2: 441,018,563 parameters to train in its gpt, 30 layers of 1024");
  EXPECT_EQ(found["corpus"].found,
            "12,969 clips (23 h 42 min) to train on, 131 to measure on, 2 left out");
  EXPECT_EQ(found["disk"].found,
            "500 GB free at /runs, 27.2 GB for 4 checkpoints of 5.4 GB, one being written and what "
            "they start from");
  EXPECT_EQ(found["length"].found,
            "100 epochs of 406 batches: 40,600 steps; how long they take is not known before the "
            "first are measured");
}

TEST(RunChecklist, TheBatchIsCountedWithTheSaversOfThePlan) {
  RunFacts facts = good_run();
  facts.plan->model.memory_cap_bytes = 16'000'000'000;
  EXPECT_EQ(rows(facts)["batch"].verdict, Verdict::Fail);
  facts.plan->savers.recompute = true;
  EXPECT_EQ(rows(facts)["batch"].verdict, Verdict::Pass) << rows(facts)["batch"].found;
}

TEST(RunChecklist, TheBatchIsCountedWithTheGuide) {
  RunFacts facts = good_run();
  const BatchShape& batch = facts.corpus->largest_batch;
  const ModelConfig& model = *facts.model;
  const std::int64_t plain =
      training_memory(model, batch, {.precision = facts.plan->precision}).total();
  facts.plan->model.memory_cap_bytes =
      plain + facts.plan->ring_slots * slot_memory(model, batch) + 1'000'000;
  EXPECT_EQ(rows(facts)["batch"].verdict, Verdict::Pass) << rows(facts)["batch"].found;
  facts.config.train.guide = 2.0;
  EXPECT_EQ(rows(facts)["batch"].verdict, Verdict::Fail) << rows(facts)["batch"].found;
}

TEST(RunChecklist, ADiskWithoutRoomForTheCheckpointsFailsWithWhatIsMissing) {
  RunFacts facts = good_run();
  facts.disk.free_bytes = 20'000'000'000;
  const Check disk = rows(facts)["disk"];
  EXPECT_EQ(disk.verdict, Verdict::Fail);
  EXPECT_EQ(disk.remedy, "Free 7.2 GB, or name another disk: --checkpoint-dir DIR");
  facts.disk.fault = "Permission denied";
  EXPECT_EQ(rows(facts)["disk"].found, "/runs: Permission denied");
}

TEST(RunChecklist, EachPartHasItsOwnParametersAndCheckpoints) {
  RunFacts facts = good_run();
  std::map<ModelPart, std::string> models;
  std::map<ModelPart, std::int64_t> kept;
  for (const ModelPart part : kModelParts) {
    facts.config.train.stage = part;
    const std::string found = rows(facts)["model"].found;
    EXPECT_TRUE(found.find("parameters to train in its " + std::string(name_of(part))) !=
                std::string::npos)
        << found;
    for (const auto& [other, text] : models) {
      EXPECT_NE(text.substr(0, text.find(" to train")), found.substr(0, found.find(" to train")));
    }
    models[part] = found;
    kept[part] = bytes_to_keep(facts);
  }
  EXPECT_LT(kept[ModelPart::Dvae], kept[ModelPart::Decoder]);
  EXPECT_LT(kept[ModelPart::Decoder], kept[ModelPart::Gpt]) << "it has fewer averages";
  facts.config.train.stage = ModelPart::Decoder;
  facts.judges = 1'000'000;
  EXPECT_EQ(bytes_to_keep(facts), kept[ModelPart::Decoder] + 4 * 12'000'000);
}

TEST(RunChecklist, TheDiskHoldsWhatEarlierStagesWillAddToo) {
  RunFacts facts = good_run();
  facts.disk.free_bytes = 30'000'000'000;
  EXPECT_EQ(rows(facts)["disk"].verdict, Verdict::Pass);
  facts.bytes_before = 5'000'000'000;
  EXPECT_EQ(rows(facts)["disk"].verdict, Verdict::Fail);
  EXPECT_NE(rows(facts)["disk"].found.find("5.0 GB of the parts before among it"),
            std::string::npos)
      << rows(facts)["disk"].found;
  facts.held_bytes = 20'000'000'000;  // a run that goes on
  EXPECT_EQ(rows(facts)["disk"].verdict, Verdict::Pass);
}

TEST(RunChecklist, OneSpeakerIsTooFewForThePartThatTellsThemApart) {
  RunFacts facts = good_run();
  facts.corpus->speakers = 1;
  EXPECT_FALSE(rows(facts).contains("speakers"));
  facts.config.train.stage = ModelPart::Speaker;
  EXPECT_EQ(rows(facts)["speakers"].verdict, Verdict::Fail);
  facts.corpus->speakers = 2;
  EXPECT_FALSE(rows(facts).contains("speakers"));
}

TEST(RunChecklist, TheDiskHoldsAsManyCheckpointsAsAreKeptAndARunMakes) {
  RunFacts facts = good_run();
  facts.config.run.keep_last = 1;
  facts.config.run.keep_best = 0;
  facts.disk.free_bytes = 12'000'000'000;
  EXPECT_EQ(rows(facts)["disk"].verdict, Verdict::Pass) << rows(facts)["disk"].found;
  facts.config.run.keep_last = 10;
  facts.config.run.keep_best = 2;
  EXPECT_NE(rows(facts)["disk"].found.find("for 12 checkpoints"), std::string::npos)
      << rows(facts)["disk"].found;
  facts.config.train.max_steps = 7;
  EXPECT_NE(rows(facts)["disk"].found.find("for 7 checkpoints"), std::string::npos)
      << rows(facts)["disk"].found;
  facts.config.train.epochs = 1;
  facts.corpus->batches_per_epoch = 5;
  EXPECT_NE(rows(facts)["disk"].found.find("for 5 checkpoints"), std::string::npos)
      << rows(facts)["disk"].found;
}

TEST(RunChecklist, ABatchIsHeldAgainstTheCapOrTheFreeMemory) {
  RunFacts facts = good_run();
  facts.plan->model.gpu->free_bytes = 20'000'000'000;
  Check batch = rows(facts)["batch"];
  EXPECT_EQ(batch.verdict, Verdict::Fail);
  EXPECT_NE(batch.found.find("free on GPU 0"), std::string::npos) << batch.found;
  EXPECT_TRUE(batch.remedy.starts_with("Give --batch-size 2")) << batch.remedy;
  facts.plan->model.memory_cap_bytes = 9'000'000'000;
  batch = rows(facts)["batch"];
  EXPECT_NE(batch.found.find("allowed by --model-gpu-memory"), std::string::npos) << batch.found;
  facts.plan->model.memory_cap_bytes = 7'000'000'000;
  EXPECT_NE(rows(facts)["batch"].remedy.find("Not even one clip fits"), std::string::npos);
}

TEST(RunChecklist, WarmUpMeasuringAndSavingAreHeldAgainstTheLength) {
  RunFacts facts = good_run();
  facts.corpus->batches_per_epoch = 2;  // 200 steps
  EXPECT_FALSE(rows(facts).contains("saving")) << "a default that minutes make good";
  facts.config.train.warmup_steps = 1000;
  facts.config.run.eval_steps = 500;
  facts.config.run.save_minutes.reset();
  auto found = rows(facts);
  for (const auto& [name, remedy] : {std::pair("warm-up", "Give --warmup-steps 20"),
                                     std::pair("measuring", "Give --eval-steps 20"),
                                     std::pair("saving", "Give --save-steps 50")}) {
    EXPECT_EQ(found[name].verdict, Verdict::Warn) << name;
    EXPECT_NE(found[name].found.find("the run's 200 steps"), std::string::npos)
        << found[name].found;
    EXPECT_TRUE(found[name].remedy.starts_with(remedy)) << found[name].remedy;
  }
  EXPECT_TRUE(all_passed(check_run(facts))) << "they are warnings";
  EXPECT_NE(describe(facts, check_run(facts)).find("read the 3 warnings above"), std::string::npos);
  facts.corpus->batches_per_epoch = 406;
  EXPECT_EQ(check_run(facts).size(), 7u);
}

TEST(RunChecklist, WithoutClipsToMeasureOnItWarnsInCapitals) {
  RunFacts facts = good_run();
  facts.corpus->validation_clips = 0;
  EXPECT_EQ(rows(facts)["corpus"].verdict, Verdict::Warn);
  EXPECT_TRUE(rows(facts)["corpus"].remedy.starts_with("NO CLIPS ARE KEPT BACK TO MEASURE ON"));
}

TEST(RunChecklist, ABudgetForHoursOfSpeechIsToldInSteps) {
  RunFacts facts = good_run();
  facts.corpus->training_hours = 4;
  facts.config.train.stage_budget = {{ModelPart::Gpt, {.steps = 6000, .hours = 1.0}}};
  EXPECT_NE(rows(facts)["length"].found.find("of which --stage-budget lets 12,000 run"),
            std::string::npos)
      << rows(facts)["length"].found;
}

TEST(RunChecklist, StepsFollowAccumulationAndTheirLimit) {
  RunFacts facts = good_run();
  facts.plan->grad_accum = 4;
  facts.config.train.max_steps = 5000;
  EXPECT_EQ(rows(facts)["length"].found,
            "100 epochs of 406 batches, 4 batches a step: 10,200 steps, of which --max-steps lets "
            "5,000 run; how long they take is not known before the first are measured");
}

TEST(RunChecklist, ARunAtItsEndIsAWarningWithWhatTrainsItOn) {
  RunFacts facts = good_run();
  facts.config.train.max_steps = 5000;
  facts.steps_done = 1200;
  EXPECT_EQ(rows(facts)["length"].verdict, Verdict::Pass);
  EXPECT_NE(rows(facts)["length"].found.find("; 1,200 are done;"), std::string::npos);
  facts.steps_done = 5000;
  EXPECT_EQ(rows(facts)["length"].verdict, Verdict::Warn);
  EXPECT_NE(rows(facts)["length"].found.find("5,000 steps are done, so that nothing is left"),
            std::string::npos)
      << rows(facts)["length"].found;
}

TEST(RunChecklist, ALargeBufferOfDecodedBatchesIsAWarning) {
  RunFacts facts = good_run();
  facts.machine.memory.available_bytes = 500'000'000;
  const Check by_itself = rows(facts)["host memory"];  // takes what there is room for
  EXPECT_EQ(by_itself.verdict, Verdict::Pass);
  EXPECT_NE(by_itself.found.find("(--buffer-size auto)"), std::string::npos) << by_itself.found;
  facts.config.data.pipeline_buffer_size = 50;
  EXPECT_EQ(rows(facts)["host memory"].verdict, Verdict::Warn);
  EXPECT_TRUE(all_passed(check_run(facts)));
}

TEST(RunChecklist, WhatIsMissingFailsAndWhatDependsOnItIsLeftOut) {
  RunFacts facts = good_run();
  facts.plan.reset();
  facts.device_fault = "No GPU here.";
  auto found = rows(facts);
  EXPECT_EQ(found["devices"].found, "No GPU here.");
  EXPECT_FALSE(found.contains("batch") || found.contains("length"));
  EXPECT_EQ(found["disk"].verdict, Verdict::Pass);
  EXPECT_FALSE(all_passed(check_run(facts)));
  facts.model.reset();
  facts.corpus.reset();
  EXPECT_EQ(check_run(facts).size(), 3u);
}

TEST(RunChecklist, ACorpusSmallerThanATypedBatchIsAWarningAndAnEmptyOneAFailure) {
  RunFacts facts = good_run();
  facts.corpus->training_clips = 20;
  facts.config.train.batch_size = 32;
  facts.machine.memory.available_bytes = 0;  // its memory is not what is wrong
  facts.plan->model.memory_cap_bytes = 1;
  EXPECT_EQ(rows(facts)["batch"].verdict, Verdict::Pass);  // a recipe's follows the corpus
  EXPECT_NE(rows(facts)["batch"].found.find("20 clips, all that there are"), std::string::npos);
  facts.batch_was_typed = true;
  EXPECT_EQ(rows(facts)["batch"].verdict, Verdict::Warn);
  EXPECT_EQ(rows(facts)["batch"].remedy, "Give --batch-size 20");
  facts.corpus->training_clips = 0;
  EXPECT_EQ(rows(facts)["corpus"].verdict, Verdict::Fail);
}

}  // namespace
}  // namespace myxtts::run_checklist_test
