// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model.h"
#include "data/batches/visit_group.h"
#include "data/corpus.h"
#include "model/gpt_rows.h"

namespace myxtts {

// How long the row of each clip is; see Note [Packed rows]. Small, so that a million fit.
class RowLengths {
 public:
  // Throws DataError, naming the clip, when one of `groups` is longer than the model allows.
  RowLengths(const Corpus& corpus, std::span<const VisitGroup> groups, const GptConfig& gpt);

  std::int64_t tokens(ClipNumber clip) const {
    return latents_ + rows_[clip].text_targets + rows_[clip].audio_targets;
  }
  std::int64_t text_targets(ClipNumber clip) const { return rows_[clip].text_targets; }
  std::int64_t audio_targets(ClipNumber clip) const { return rows_[clip].audio_targets; }

  // Of the rows of these visits one after another, without padding. No segments are counted.
  RowSizes total(std::span<const Visit> visits) const;

  std::int64_t longest() const { return longest_; }    // tokens of one row
  std::int64_t shortest() const { return shortest_; }  // 0 without clips

 private:
  struct Row {
    std::uint16_t text_targets = 0;
    std::uint16_t audio_targets = 0;
  };

  std::int64_t latents_;
  std::int64_t longest_ = 0;
  std::int64_t shortest_ = 0;
  std::vector<Row> rows_;  // by clip; zeros for clips of no group
};

}  // namespace myxtts
