// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/step_graphs.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/progress.h"

namespace myxtts {

Batch<TensorOf> copy_of(const DeviceBatch& batch) {
  Batch<TensorOf> copy;
  copy.rows = batch.rows;
  copy.prompt_mel = batch.prompt_mel.clone();
  GptBatch& rows = copy.rows;
  for (auto* tensor :
       {&rows.segment_ends, &rows.tokens, &rows.positions, &rows.target_rows, &rows.text_targets,
        &rows.audio_targets, &rows.text_count, &rows.audio_count}) {
    *tensor = tensor->clone();
  }
  return copy;
}

Batch<TensorOf> smallest_inputs(const GptConfig& config, std::int64_t prompt_frames,
                                c10::Device device) {
  const std::vector<std::int64_t> text(4, 0);
  const std::vector<std::int64_t> codes(8, 0);
  const GptClip clip = {.text = text, .codes = codes};
  Batch<TensorOf> inputs;
  inputs.rows = to_batch(pack_rows(config, {&clip, 1}), device);
  inputs.prompt_mel = at::zeros({1, config.mel_bands, prompt_frames}, at::TensorOptions(device));
  return inputs;
}

namespace {

// Rows of that size with nothing in them: one segment of padding.
GptBatch empty_rows(const RowSizes& sizes, c10::Device device) {
  const auto longs = at::TensorOptions(device).dtype(at::kLong);
  const auto ones = at::ones({}, at::TensorOptions(device).dtype(at::kFloat));
  return {
      .clips = 0,
      .lengths = {},
      .longest = sizes.longest,
      .segment_ends = at::zeros({sizes.segments + 1}, at::TensorOptions(device).dtype(at::kInt)),
      .tokens = at::zeros({sizes.tokens}, longs),
      .positions = at::zeros({sizes.tokens}, longs),
      .target_rows = at::zeros({sizes.text_targets + sizes.audio_targets}, longs),
      .text_targets = at::full({sizes.text_targets}, -1, longs),
      .text_clips = at::zeros({sizes.text_targets}, longs),
      .audio_targets = at::full({sizes.audio_targets}, -1, longs),
      .audio_clips = at::zeros({sizes.audio_targets}, longs),
      .text_count = ones.clone(),
      .audio_count = ones.clone()};
}

std::unique_ptr<RecordedGraph> record(RoleDevice& device, GraphRecorder& recorder,
                                      const Batch<TensorOf>& inputs, const StepWork& work) {
  try {
    return recorder.record([&] { work(inputs); });
  } catch (const c10::OutOfMemoryError&) {
    throw;  // it says itself what would help
  } catch (const c10::Error& error) {
    throw DeviceError(
        fmt::format("The step of {} tokens cannot be recorded as a CUDA graph on {}: {} Type "
                    "--disable-static-shapes to train without graphs.",
                    inputs.rows.tokens.size(0), device.name(), error.what_without_backtrace()));
  }
}

}  // namespace

StepGraphs::StepGraphs(RoleDevice& device, GraphRecorder& recorder,
                       const std::vector<RowSizes>& sizes, const at::Tensor& prompt_mel,
                       const StepWork& work)
    : device_(device) {
  std::vector<RowSizes> largest_first = sizes;
  std::ranges::sort(largest_first, std::ranges::greater{}, &RowSizes::tokens);
  Progress progress({.title = "Recording steps as CUDA graphs", .total = sizes.size()});
  graphs_.reserve(sizes.size());
  for (const auto& size : largest_first) {
    Graph graph;
    graph.inputs.rows = empty_rows(size, prompt_mel.device());
    graph.inputs.prompt_mel = prompt_mel;
    graph.recorded = record(device, recorder, graph.inputs, work);
    graphs_.push_back(std::move(graph));
    progress.advance();
  }
}

StepGraphs::Graph& StepGraphs::find(const GptBatch& rows) {
  const auto found = std::ranges::find_if(graphs_, [&rows](const Graph& graph) {
    const GptBatch& own = graph.inputs.rows;
    return own.tokens.sizes() == rows.tokens.sizes() &&
           own.text_targets.sizes() == rows.text_targets.sizes() &&
           own.audio_targets.sizes() == rows.audio_targets.sizes() &&
           own.segment_ends.sizes() == rows.segment_ends.sizes() && own.longest >= rows.longest;
  });
  MYXTTS_CHECK(found != graphs_.end(),
               "no graph for a batch of {} tokens, {} and {} targets, {} segments of at most {}",
               rows.tokens.size(0), rows.text_targets.size(0), rows.audio_targets.size(0),
               rows.segment_ends.size(0) - 1, rows.longest);
  return *found;
}

void StepGraphs::copy(const at::Tensor& to, const at::Tensor& from) const {
  device_.copy(device_.stream(), {.data = to.mutable_data_ptr(), .gpu = device_.gpu()},
               {.data = const_cast<void*>(from.const_data_ptr()), .gpu = device_.gpu()},
               from.nbytes());
}

void StepGraphs::load(const DeviceBatch& batch) {
  loaded_ = &find(batch.rows);
  const GptBatch& to = loaded_->inputs.rows;
  const GptBatch& from = batch.rows;
  copy(to.segment_ends, from.segment_ends);
  copy(to.tokens, from.tokens);
  copy(to.positions, from.positions);
  copy(to.target_rows, from.target_rows);
  copy(to.text_targets, from.text_targets);
  copy(to.audio_targets, from.audio_targets);
  copy(to.text_count, from.text_count);
  copy(to.audio_count, from.audio_count);
  MYXTTS_CHECK(batch.prompt_mel.numel() == loaded_->inputs.prompt_mel.numel(),
               "prompts of {} numbers came where {} fit", batch.prompt_mel.numel(),
               loaded_->inputs.prompt_mel.numel());
  copy(loaded_->inputs.prompt_mel, batch.prompt_mel);
}

void StepGraphs::replay() {
  loaded_->recorded->replay();
}

}  // namespace myxtts
