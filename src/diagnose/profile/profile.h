// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/nvml.h"
#include "device/plan/device_plan.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

// 0 where there is no whole.
inline double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

// One role's device during a trial.
struct RoleSeen {
  std::int64_t peak_bytes = 0;  // reserved by the role
  std::optional<std::int64_t> cap = {};
  std::optional<GpuUse> gpu = {};  // nothing: the role is on the CPU, or the driver is silent
};

// A step that is handed to a device with nothing else to do, averaged over a few.
struct LoneStep {
  double host_seconds = 0;   // until the host had handed it over
  double after_seconds = 0;  // from then to its end on the device; little: the host was the slower
};

// One setting to change, as a flag and as the configuration file has it.
struct Knob {
  std::string flag;  // "--num-workers 6"
  std::string key;   // "data.num_workers"
  std::string value;

  friend bool operator==(const Knob&, const Knob&) = default;
};

struct TrialReading;

// The same training with another setting of the step, where the first measurement said that it may
// be the better one: what it gives, beside the same pipeline, is measured and not guessed.
struct Tried {
  Knob knob;
  std::shared_ptr<const TrialReading> reading = {};  // null: it cannot be done
};

// Everything a trial measured. Times of steps are the model device's own, by events; the
// pipeline's are of the measured steps alone, warm-up taken off.
struct TrialReading {
  std::vector<double> step_seconds;       // from one step's end to the next, in order
  std::vector<std::int64_t> step_tokens;  // that each of them computed, with padding
  std::vector<double> resident_seconds;   // the same on batches that stay on the device
  std::optional<LoneStep> lone = {};      // nothing: not measured
  double wall_seconds = 0;                // of the measured steps
  double cpu_seconds = 0;                 // of all threads of this process, in that time
  double host_step_seconds = 0;           // of the trainer's thread: handing one step to the device
  std::int64_t batches = 0;               // --grad-accum of them a step
  std::int64_t clips = 0;
  double audio_seconds = 0;
  std::int64_t tokens = 0;         // computed, with padding
  std::int64_t useful_tokens = 0;  // of them
  std::int64_t longest_row = 0;    // tokens of the longest clip; 0: not known
  double resident_tokens = 0;      // computed in a resident step, on average
  double file_seconds = 0;         // of the decoders' busy time: waiting for files
  PipelineReading pipeline;
  RoleSeen data;
  RoleSeen model;

  std::vector<Tried> tried = {};  // other settings of the step
};

// How long steps took, in seconds.
struct StepStatistics {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double highest = 0;
  double variation = 0;  // standard deviation over mean
};

// All zero where there is no step.
StepStatistics statistics_of(std::span<const double> seconds);

// How much steps of equal work differ: the variation that is left when what each more token costs,
// by the straight line that fits best, is taken off. Steps of different clips differ by their
// tokens, which is no fault.
double variation_at_equal_work(std::span<const double> seconds,
                               std::span<const std::int64_t> tokens);

// What a trial ran with, as far as a verdict needs to know it.
struct ProfileSetup {
  DevicePlan plan = {};
  std::string model_size = {};
  std::string corpus = {};     // "generated" or the folders
  bool static_shapes = false;  // graphs, on a GPU
  bool cache_dataset = false;
  bool shift_clips = false;          // codes are others each time, and no cache can keep them
  bool host_path_was_asked = false;  // --transfer-path host
  std::int64_t cores = 1;            // that this process may use
  std::int64_t warm_up = 0;
};

// What a step can be held up by.
enum class Cause {
  Reading,
  Decoding,
  Features,
  Transfer,
  ModelBound,
  Launch,
  Padding,
  MemoryPressure,
  Oscillation,
};
std::string name_of(Cause cause);  // "reading", ..., "host-bound launch", ...

struct Finding {
  Cause cause = Cause::ModelBound;
  double cost_share = 0;          // of the step's time that would be gone without it
  std::string reason = {};        // a sentence with the figures that it follows from
  std::optional<Knob> knob = {};  // nothing: no setting helps
  std::string remark = {};        // what else to know of the knob; may be empty
  double predicted_step_seconds = 0;
  double predicted_clips_per_second = 0;

  double predicted_gain(double clips_per_second) const {
    return clips_per_second > 0 ? predicted_clips_per_second / clips_per_second - 1 : 0.0;
  }
};

// Everything that `profile` reports, derived from what was measured alone.
struct Profile {
  ProfileSetup setup;
  TrialReading reading;

  StepStatistics steps = {};
  double variation = 0;  // at equal work
  double clips_per_second = 0;
  double audio_hours_per_hour = 0;
  std::optional<double> ceiling_seconds = {};  // a step on resident batches with as many tokens
  double waited_share = 0;                     // of the model device's time, for batches
  double transfer_share = 0;                   // of a step: bytes on their way, also beside it
  double padding_share = 0;                    // of the computed tokens

  // The verdict first, then what would be next once its knob is turned. Never empty.
  std::vector<Finding> findings = {};
};

Profile make_profile(const ProfileSetup& setup, TrialReading reading);

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

// Several lines for a terminal: speed, stages, thresholds, grade, verdict, knob.
std::string describe(const Profile& profile);

// One object; docs/guides/profile.md has the schema.
std::string to_json(const Profile& profile);

// A page with the same numbers and pictures of them; needs nothing but itself.
std::string to_html(const Profile& profile);

}  // namespace myxtts
