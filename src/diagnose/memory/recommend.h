// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "diagnose/scaling/scaling_table.h"

namespace myxtts {

// Cards as they are sold: the advertised memory, and what nvidia-smi shows of it.
struct CardSize {
  std::string name;  // "24 GB"
  std::int64_t megabytes = 0;
};
const std::vector<CardSize>& usual_cards();

// A machine with one or two such cards and nothing else to be known of it.
Machine machine_with(const CardSize& size, int cards);

// What plan_with_savers() decides for one placement, and the command that asks for just that.
struct Recommendation {
  std::string memory;  // of a card, or "here"
  int cards = 1;       // 0: the CPU
  bool fits = false;   // by estimate
  std::string fault = {};
  DevicePlan plan = {};
  std::string command = {};  // empty where it does not fit
};

struct RecommendationTable {
  std::string model_size;
  std::int64_t parameters = 0;
  std::vector<Recommendation> rows = {};
  std::vector<ScalingTable> ranks = {};  // what several of them would do together
};

// One row for one and one for two of each usual card, and first those of this machine. A batch that
// is given stands, and what else is needed to make it fit is decided around it.
RecommendationTable recommend(const std::string& model_size, std::optional<std::int64_t> batch_size,
                              const Machine& here);

// The tables for people, each row with its command below it, and for scripts.
std::string recommendation_text(const std::vector<RecommendationTable>& tables);
std::string recommendation_json(const std::vector<RecommendationTable>& tables);

}  // namespace myxtts
