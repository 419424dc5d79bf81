// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/gpt.h"
#include "model/named_tensors.h"

namespace myxtts {

// The rows that a new row starts as the mean of: old ones, or new ones before it. Empty: all old
// rows.
using RowSources = std::vector<std::int64_t>;

// The tensors of a GPT that have a row for each text id, without `prefix`.
const std::vector<std::string>& text_id_tensors();

// Those tensors with rows appended, one for each of `new_rows`, in that order. Old rows are the
// same bit for bit, so old texts give the states and code logits they gave; new rows are computed
// in double and rounded once. The weights are left as they are. Throws InternalError for a source
// that does not stand before its row.
NamedTensors grow_vocabulary(const NamedTensors& weights, const std::vector<RowSources>& new_rows,
                             const std::string& prefix = kGptPrefix);

}  // namespace myxtts
