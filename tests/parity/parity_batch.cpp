// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_batch.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts::test {
namespace {

// The first `count` whole numbers of row `row`.
std::vector<std::int64_t> row_of(const at::Tensor& table, std::int64_t row, std::int64_t count) {
  if (count > table.size(1)) {
    throw DataError(fmt::format("Row {} of the batch should have {} values; its table has {}.", row,
                                count, table.size(1)));
  }
  const auto values = table[row].narrow(0, 0, count).to(at::kLong).contiguous();
  const auto* begin = values.const_data_ptr<std::int64_t>();
  return {begin, begin + count};
}

}  // namespace

const at::Tensor& input(const TensorsByName& inputs, const std::string& name) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw DataError(fmt::format("The inputs hold no tensor {}.", name));
  return found->second;
}

TensorsByName inputs_of_step(const TensorsByName& inputs, int step) {
  const std::string prefix = fmt::format("in.step{}.", step);
  TensorsByName result;
  for (const auto& [name, tensor] : inputs) {
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(prefix.size());
    result[rest == "batch.codes" ? rest : "in." + rest] = tensor;
  }
  return result;
}

std::vector<ParityClip> read_clips(const GptConfig& config, const TensorsByName& inputs,
                                   const std::string& spans) {
  const auto texts = input(inputs, "in.batch.padded_text");
  const auto text_lengths = input(inputs, "in.batch.text_lengths").to(at::kLong);
  const auto codes = input(inputs, "batch.codes");
  const auto samples = input(inputs, "in.batch.wav_lengths").flatten().to(at::kLong);
  const auto prompts = input(inputs, spans).to(at::kLong);

  std::vector<ParityClip> clips;
  for (std::int64_t row = 0; row < texts.size(0); ++row) {
    const std::int64_t stride = config.code_stride;
    const std::int64_t count = (samples[row].item<std::int64_t>() + stride - 1) / stride;
    clips.push_back({.text = row_of(texts, row, text_lengths[row].item<std::int64_t>()),
                     .codes = row_of(codes, row, count),
                     .prompt = {.first = prompts[row][0].item<std::int64_t>(),
                                .last = prompts[row][1].item<std::int64_t>()}});
  }
  return clips;
}

std::vector<GptClip> views(const std::vector<ParityClip>& clips) {
  std::vector<GptClip> result;
  for (const auto& clip : clips) {
    result.push_back({.text = clip.text, .codes = clip.codes, .prompt = clip.prompt});
  }
  return result;
}

}  // namespace myxtts::test
