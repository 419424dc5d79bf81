// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/grades.h"

#include <algorithm>

namespace myxtts {
namespace {

std::optional<double> use_of(const RoleSeen& role) {
  return role.gpu ? std::optional(role.gpu->busy_share) : std::nullopt;
}

// What the three grades ask for, from the easiest to the hardest.
struct Scale {
  double minimum = 0;
  double good = 0;
  double excellent = 0;

  Grade grade(double value) const {
    const bool more_is_better = excellent > minimum;
    const auto reaches = [&](double limit) {
      return more_is_better ? value >= limit : value <= limit;
    };
    if (reaches(excellent)) return Grade::Excellent;
    if (reaches(good)) return Grade::Good;
    return reaches(minimum) ? Grade::Minimum : Grade::Poor;
  }
};

constexpr Scale kModelUse{kLeastModelGpu, 0.80, 0.90};
constexpr Scale kVariation{kMostVariation, 0.15, 0.05};
constexpr Scale kReadiness{0.80, 0.95, 0.995};

}  // namespace

std::vector<Threshold> thresholds_of(const Profile& profile) {
  return {{.name = "data loading",
           .meaning = "of the time the model waited for batches",
           .limit = kMostDataLoading,
           .measured = profile.waited_share},
          {.name = "transfer",
           .meaning = "of a step's time batches were copied, also beside it",
           .limit = kMostTransfer,
           .measured = profile.transfer_share},
          {.name = "variation",
           .meaning = "of the time of steps, for equal work",
           .limit = kMostVariation,
           .measured = profile.variation},
          {.name = "model GPU",
           .meaning = "of the time it was in use",
           .limit = kLeastModelGpu,
           .is_least = true,
           .measured = use_of(profile.reading.model)},
          {.name = "data GPU",
           .meaning = "of the time it was in use",
           .limit = kMostDataGpu,
           .measured = profile.setup.plan.mode == Mode::Dual ? use_of(profile.reading.data)
                                                             : std::nullopt}};
}

std::string name_of(Grade grade) {
  switch (grade) {
    case Grade::Poor:
      return "below minimum";
    case Grade::Minimum:
      return "minimum";
    case Grade::Good:
      return "good";
    case Grade::Excellent:
      return "excellent";
  }
  return "?";
}

std::vector<Mark> marks_of(const Profile& profile) {
  const double readiness = profile.reading.pipeline.readiness.share();
  std::vector<Mark> marks{
      {.name = "variation",
       .measured = profile.variation,
       .grade = kVariation.grade(profile.variation)},
      {.name = "readiness", .measured = readiness, .grade = kReadiness.grade(readiness)}};
  if (const auto use = use_of(profile.reading.model)) {
    marks.insert(marks.begin(),
                 {.name = "model GPU use", .measured = *use, .grade = kModelUse.grade(*use)});
  }
  return marks;
}

Grade grade_of(const std::vector<Mark>& marks) {
  Grade worst = Grade::Excellent;
  for (const Mark& mark : marks) worst = std::min(worst, mark.grade);
  return worst;
}

}  // namespace myxtts
