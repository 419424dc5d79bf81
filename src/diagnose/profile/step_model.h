// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "diagnose/profile/profile.h"

namespace myxtts {

// A training as a row of stages that work at the same time: seconds that each needs for the batches
// of one step, as measured. A step takes as long as the slowest of them, and longer where waits are
// uneven. What a change gives is found by changing this and asking again.
//
// Note [Verdicts follow from waiting]
// A stage that is slow is one that is busy all the time while those behind it starve: then its
// seconds a step are the step. Its own timer says little: decoders that are busy for 300 ms a step
// are no fault when there are eight of them, or when the step takes 400. So every verdict asks what
// the step would be without something, and the largest difference is named.
struct StepModel {
  double listing = 0;       // the reader: order, names, asking the disk
  double files = 0;         // decoders together: waiting for files
  double decoding = 0;      // decoders together: everything else
  double decoding_cpu = 0;  // of both: what they computed
  double workers = 1;       // that shared it, on average
  double places = 1e9;      // clips that the buffer has a place for: no more are decoded at a time
  double batching = 0;
  double collating = 0;
  double upload = 0;    // to the data device
  double encoding = 0;  // sound to codes
  double prompts = 0;   // rows and prompts
  double transfer = 0;  // to the model device
  double feeding = 0;   // the feature stage's thread, everything above that it does itself
  double sending = 0;   // of that: handing the copies to the model device over
  bool serial = true;   // on the CPU that thread does all of it, one after the other
  double cores = 1;

  double model = 0;       // the model device's own work, beside what runs there with it
  double unevenness = 0;  // of the measured step, that no stage's mean explains
  double clips = 0;       // of a step

  double decoders() const;  // seconds a step
  double features() const;
  double transfers() const;
  double slowest_stage() const;  // of the pipeline
  double step() const;           // the larger of that and the model, and the unevenness

  double clips_per_second() const { return step() > 0 ? clips / step() : 0.0; }
};

StepModel model_of(const Profile& profile);

// The same with batches of `factor` times as many clips.
StepModel scaled(StepModel model, double factor);

// The model that changes from `now` as a trial with another setting changed from the first one:
// `there` in place of `before`.
StepModel changed_as(const StepModel& now, const StepModel& before, const StepModel& there);

// `after` with the unevenness of `before` in proportion: a slower stage makes larger holes, and
// they shrink with it.
StepModel with_holes_scaled(StepModel after, const StepModel& before);

}  // namespace myxtts
