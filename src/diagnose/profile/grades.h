// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/profile/profile.h"

namespace myxtts {

// A limit that people know from earlier tools, beside what was measured. It is shown; verdicts
// follow from waiting times.
struct Threshold {
  std::string name = {};                // "data loading"
  std::string meaning = {};             // "of the step's time that the model waits for batches"
  double limit = 0;                     // 0 to 1
  bool is_least = false;                // the value should be above the limit, not below
  std::optional<double> measured = {};  // nothing: there is no such device

  bool is_crossed() const { return measured && (is_least ? *measured < limit : *measured > limit); }
};

// Limits that `train` warns by as well.
inline constexpr double kMostDataLoading = 0.20;
inline constexpr double kMostTransfer = 0.15;
inline constexpr double kMostVariation = 0.30;
inline constexpr double kLeastModelGpu = 0.70;
inline constexpr double kMostDataGpu = 0.80;

std::vector<Threshold> thresholds_of(const Profile& profile);

enum class Grade { Poor, Minimum, Good, Excellent };
std::string name_of(Grade grade);  // "below minimum", "minimum", "good", "excellent"

// One measure that counts for the grade.
struct Mark {
  std::string name;  // "model GPU use"
  double measured = 0;
  Grade grade = Grade::Poor;
};

// Model-GPU use (where there is a GPU), variation at equal work, readiness. The data GPU's use is
// not graded: features are little work, and a healthy data GPU may well be idle.
std::vector<Mark> marks_of(const Profile& profile);

Grade grade_of(const std::vector<Mark>& marks);  // the worst of them

}  // namespace myxtts
