// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/batches/batch_plan.h"
#include "model/gpt_rows.h"

namespace myxtts {

// What is known of a batch wherever its arrays lie.
struct BatchInfo {
  std::int64_t number = -1;            // counts from 0 in the order its trainer sees them
  std::size_t trainer = 0;             // that it is for, where a pipeline feeds several
  DataPosition position = {};          // of this batch
  std::vector<ClipNumber> clips = {};  // of the rows, in order; for messages
  bool ends_step = true;               // the last of the batches whose gradients are added up
  double audio_seconds = 0;            // of its clips
};

// Pieces of the clips' sound, for the stages that train on sound; several may come from one clip.
// W is the same for every batch. A clip's windows stand together, in the order of the rows. Where a
// stage does not use an array, it is empty or undefined.
template <template <typename> class Array>
struct WindowArrays {
  Array<float> weights = {};        // [W] 1, and 0 for those behind the last, which are silence
  Array<std::int64_t> clips = {};   // [W] the row of the batch that it was cut from
  Array<float> mel = {};            // dvae: [W, bands, frames] as the DVAE takes it
  Array<float> sound = {};          // decoder, speaker: [W, samples] within ±1 at the stage's rate
  Array<std::int64_t> starts = {};  // [W] where a window begins in its clip, in WindowPlan's units
  Array<float> voices = {};         // decoder: [slots, speaker_dim], of whole clips
  Array<std::int64_t> speakers = {};  // speaker: [W] from 0
};

// One batch, from the collator to the training step. Its arrays lie in vectors while it is laid
// out, then in a block of staging memory (HostBatch), then on the data device, and in the end in a
// slot on the model device (DeviceBatch): every array is declared here, once.
//
// Note [Unknown codes]
// The batch's U unknown codes are those of its clips with !HostClip::codes_known, clip after clip.
// Once the DVAE has found codes [U] (the first HostClip::codes of each clip), the rows are
// completed by
//
//   tokens.index_put(code_tokens, codes + text_ids)                       [U]
//   audio_targets.index_put(code_targets, codes.index(code_target_codes)) [V], V <= U
//
// V is smaller where the prompt's span is masked: those targets stay -1. Then
// tokens.index_put(noise_tokens, noise_ids) makes the GPT read other codes there than those that
// are its targets.
template <template <typename> class Array>
struct Batch : BatchInfo {
  // What the feature stage computes codes, prompts and windows from; not in a slot.
  Array<std::int16_t> samples = {};            // of all clips, one after another
  Array<std::int64_t> code_tokens = {};        // [U] places in `tokens`
  Array<std::int64_t> code_targets = {};       // [V] places in `audio_targets`
  Array<std::int64_t> code_target_codes = {};  // [V] which of the U codes goes there
  Array<std::int64_t> noise_tokens = {};       // places in `tokens`
  Array<std::int64_t> noise_ids = {};

  PackedRows<Array> rows = {};       // with a 0 wherever a code is not known yet
  Array<float> prompt_mel = {};      // [slots, bands, frames] as the conditioning encoder takes it
  WindowArrays<Array> windows = {};  // of stages that train on sound
};

// Calls visit(array, array...) with each array of all these batches that the host lays out.
template <typename Visit, typename... Batches>
void for_each_host_array(Visit&& visit, Batches&... batches) {
  visit(batches.samples...);
  visit(batches.code_tokens...);
  visit(batches.code_targets...);
  visit(batches.code_target_codes...);
  visit(batches.noise_tokens...);
  visit(batches.noise_ids...);
  for_each_row_array(visit, batches.rows...);
  visit(batches.windows.weights...);
  visit(batches.windows.clips...);
  visit(batches.windows.starts...);
  visit(batches.windows.speakers...);
}

// The same with each array that a slot has.
template <typename Visit, typename... Batches>
void for_each_slot_array(Visit&& visit, Batches&... batches) {
  for_each_row_array(visit, batches.rows...);
  visit(batches.prompt_mel...);
  visit(batches.windows.weights...);
  visit(batches.windows.clips...);
  visit(batches.windows.mel...);
  visit(batches.windows.sound...);
  visit(batches.windows.starts...);
  visit(batches.windows.voices...);
  visit(batches.windows.speakers...);
}

}  // namespace myxtts
