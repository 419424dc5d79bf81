// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/gpt_rows.h"

namespace myxtts {

// At most `most` sizes that batches are padded to, smallest first, chosen so that batches such as
// those in `seen` compute as few tokens of padding as any choice of sizes can give (up to rounding
// to multiples of 8). The last one is `bound`, which every batch fits, rounded up.
std::vector<RowSizes> choose_sizes(std::span<const RowSizes> seen, const RowSizes& bound,
                                   std::int64_t most);

// The first of `sizes` that holds the tokens and targets of a batch.
const RowSizes& fitting_size(std::span<const RowSizes> sizes, const RowSizes& batch);

}  // namespace myxtts
