// SPDX-License-Identifier: Apache-2.0
#include "run/training_state.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::training_state_test {
namespace {

using test::contents_of;
using test::TemporaryFolder;

TrainingState full_state() {
  return {.step = 1200,
          .position = {.epoch = 3, .step = 17},
          .division = {.epoch = 3, .visits = 96, .order = EpochOrder{.attempt = 64, .dealt = 12}},
          .division_step = 1183,
          .rest = EpochStart{.epoch = 3, .visits = 170, .order = EpochOrder{.attempt = 2}},
          .skipped_steps = 2,
          .bad_steps = 1,
          .metrics_position = 98'765,
          .mean_loss = 0.1 + 0.2,
          .validation_loss = 1.0 / 3,
          .best_validation_loss = 0.25,
          .evaluations_since_best = 4,
          .seconds = 1e5 + 0.7,
          .stage = "dvae",
          .corpus = "00ff00ff00ff00ff",
          .rows = "seed=7 prompt_mask=clip",
          .batches = "batch_size=3 \"quoted\" فارسی"};
}

TEST(TrainingState, ComesBackBitByBit) {
  const TemporaryFolder folder;
  write_training_state(folder / "state.json", full_state());
  EXPECT_EQ(read_training_state(folder / "state.json"), full_state());
  write_training_state(folder / "state.json", {});
  EXPECT_EQ(read_training_state(folder / "state.json"), TrainingState{});
}

// A file as earlier versions of the program wrote it.
std::string version_2(std::int64_t batches) {
  return fmt::format(R"({{"version": 2, "stage": "gpt", "step": 9, "epoch": 1, "epoch_batches": {},
    "skipped_steps": 0, "bad_steps": 0, "metrics_position": 5, "mean_loss": 0.5,
    "validation_loss": null, "best_validation_loss": 1.5, "evaluations_since_best": 0,
    "seconds": 3.5, "corpus": "00ff", "batches": "batch_size=4 batch_tokens=0 batches_a_step=1 )"
                     R"(static_shapes=false seed=7 prompt_mask=clip shifted"}})",
                     batches);
}

TEST(TrainingState, OneOfVersion2IsReadAndItsSettingsAreToldApart) {
  const TemporaryFolder folder;
  const auto read = [&folder](const std::string& text) {
    std::ofstream(folder / "state.json", std::ios::binary) << text;
    return read_training_state(folder / "state.json");
  };
  const TrainingState state = read(version_2(3));
  EXPECT_EQ(state.position, (DataPosition{1, 3}));
  EXPECT_EQ(state.best_validation_loss, 1.5);
  EXPECT_EQ(state.batches, "batch_size=4 batch_tokens=0 batches_a_step=1 static_shapes=false");
  EXPECT_EQ(state.rows, "seed=7 prompt_mask=clip shifted");
  EXPECT_EQ(state.rest, std::nullopt) << "it does not tell its order";
  EXPECT_EQ(state.division, EpochStart{});
  EXPECT_EQ(read(version_2(0)).rest, EpochStart{.epoch = 1}) << "the epoch has not begun";
}

TEST(TrainingState, AnEpochHasNotBegunUnlessItsVisitsBeganBeforeItWasDivided) {
  TrainingState state{.position = {.epoch = 2, .step = 0}};
  EXPECT_TRUE(state.begins_epoch());
  state.division = {.epoch = 1, .visits = 5};
  EXPECT_TRUE(state.begins_epoch());
  state.division = {.epoch = 2, .visits = 5};
  EXPECT_FALSE(state.begins_epoch());
  state.division = {.epoch = 2};
  EXPECT_TRUE(state.begins_epoch());
  state.position.step = 1;
  EXPECT_FALSE(state.begins_epoch());
}

TEST(TrainingState, AValidationLossThatIsNoNumberIsKeptAsNone) {
  const TemporaryFolder folder;
  TrainingState state = full_state();
  state.validation_loss = std::numeric_limits<double>::infinity();
  write_training_state(folder / "state.json", state);
  EXPECT_EQ(read_training_state(folder / "state.json").validation_loss, std::nullopt);
}

std::string refusal(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder / "state.json", std::ios::binary) << text;
  try {
    (void)read_training_state(folder / "state.json");
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("state.json"), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

// The file of full_state() with one field replaced.
std::string with(const std::string& field, const nlohmann::ordered_json& value) {
  const TemporaryFolder folder;
  write_training_state(folder / "state.json", full_state());
  auto json = nlohmann::ordered_json::parse(contents_of(folder / "state.json"));
  json[field] = value;
  return json.dump();
}

TEST(TrainingState, HostileContentIsRefusedWithWhatIsWrong) {
  EXPECT_NE(refusal("").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal("[1]").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(std::string(50'000, '[')).find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(std::string(1'000'000, ' ')).find("at most"), std::string::npos);
  EXPECT_NE(refusal("{}").find("has no \"version\""), std::string::npos);
  EXPECT_NE(refusal(with("version", 4)).find("version 4"), std::string::npos);
  EXPECT_NE(refusal(with("version", 2)).find("18 fields in place of 15"), std::string::npos);
  EXPECT_NE(refusal(with("extra", 2)).find("19 fields in place of 18"), std::string::npos);
  EXPECT_NE(refusal(with("division", nullptr)).find("\"division\" a value that is no object"),
            std::string::npos);
  EXPECT_NE(refusal(with("division", {{"step", 1}})).find("1 fields in place of 4"),
            std::string::npos);
  EXPECT_NE(refusal(with("rest", {{"visits", -1}, {"order", nullptr}})).find("\"visits\""),
            std::string::npos);
  EXPECT_NE(refusal(with("rest", {{"visits", 1}, {"order", 5}})).find("\"order\""),
            std::string::npos);
  EXPECT_NE(refusal(with("step", -1)).find("\"step\" a value that is no count"), std::string::npos);
  EXPECT_NE(refusal(with("step", 1.5)).find("no count"), std::string::npos);
  EXPECT_NE(refusal(with("step", 9223372036854775808ULL)).find("no count"), std::string::npos);
  EXPECT_NE(refusal(with("epoch", "one")).find("no count"), std::string::npos);
  EXPECT_NE(refusal(with("seconds", nullptr)).find("no number"), std::string::npos);
  EXPECT_NE(refusal(with("best_validation_loss", true)).find("no number"), std::string::npos);
  EXPECT_NE(refusal(with("corpus", 5)).find("no text"), std::string::npos);
}

TEST(TrainingState, AMissingFieldIsNamed) {
  const auto json = nlohmann::ordered_json::parse(with("step", 1));
  for (const auto& [name, value] : json.items()) {
    auto without = json;
    without.erase(name);
    EXPECT_NE(refusal(without.dump()), "") << name;
    without["other"] = 1;
    EXPECT_NE(refusal(without.dump()).find("has no \"" + name + "\""), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace myxtts::training_state_test
