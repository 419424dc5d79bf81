// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "config/model.h"
#include "model/gpt_rows.h"
#include "weights/tensor_files.h"

namespace myxtts::test {

// A clip cut out of the padded batch that the peer's trainer forms.
struct ParityClip {
  std::vector<std::int64_t> text;
  std::vector<std::int64_t> codes;
  PromptSpan prompt;
};

// The clips of in.batch.*, with the prompt spans named `spans` [B, 2]. A clip has as many codes as
// its samples fill; the rest of its row of batch.codes is padding.
std::vector<ParityClip> read_clips(const GptConfig& config, const TensorsByName& inputs,
                                   const std::string& spans);

std::vector<GptClip> views(const std::vector<ParityClip>& clips);

// The inputs whose names begin with "in.step7.", under the names of a single batch.
TensorsByName inputs_of_step(const TensorsByName& inputs, int step);

// The input called `name`. Throws DataError when there is none.
const at::Tensor& input(const TensorsByName& inputs, const std::string& name);

}  // namespace myxtts::test
