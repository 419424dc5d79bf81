// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "diagnose/profile/profile.h"

namespace myxtts::test {

// A training of real stages whose work is timed waits: seconds of each. Only the model and the
// features are not real ones. No core is busy, so what is measured follows from the stages alone.
struct PlantedTraining {
  double step = 0.016;      // for `kBaseClips`
  double listing = 0;       // a clip, in the reader
  double files = 0;         // a clip, in a decoder, waiting for its file
  double decoding = 0;      // a clip, in a decoder
  double encoding = 0;      // of `kBaseClips`, unless codes are cached
  double prompts = 0;       // of `kBaseClips`
  double transfer = 0;      // a copy, whatever its size
  double stall = 0;         // of the storage, seldom
  double stall_chance = 0;  // a clip

  std::int64_t clips = 4;  // of a batch
  std::size_t workers = 2;
  std::size_t buffer = 4;
  bool cached = false;
  std::uint64_t seed = 1;
  int steps = 30;

  static constexpr double kBaseClips = 4;
};

// Trains and profiles it.
Profile profile_of(const PlantedTraining& training);

// The same training with a knob turned. Throws InternalError for one that it does not have.
PlantedTraining with(PlantedTraining training, const Knob& knob);

}  // namespace myxtts::test
