// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/gpt_pass.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/random.h"
#include "device/torch_device.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/op_tensors.h"
#include "parallel/rank_team.h"

namespace myxtts {

StepInputs copy_of(const DeviceBatch& batch) {
  StepInputs copy = {.rows = batch.rows, .prompt_mel = batch.prompt_mel.clone()};
  GptBatch& rows = copy.rows;
  for (auto* tensor :
       {&rows.segment_ends, &rows.tokens, &rows.positions, &rows.target_rows, &rows.text_targets,
        &rows.audio_targets, &rows.text_count, &rows.audio_count}) {
    *tensor = tensor->clone();
  }
  return copy;
}

StepInputs smallest_inputs(const GptConfig& config, std::int64_t prompt_frames,
                           c10::Device device) {
  const std::vector<std::int64_t> text(4, 0);
  const std::vector<std::int64_t> codes(8, 0);
  const GptClip clip = {.text = text, .codes = codes};
  return {.rows = to_batch(pack_rows(config, {&clip, 1}), device),
          .prompt_mel = at::zeros({1, config.mel_bands, prompt_frames}, at::TensorOptions(device))};
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
                                      const StepInputs& inputs, const StepWork& work) {
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
    Graph graph = {
        .inputs = {.rows = empty_rows(size, prompt_mel.device()), .prompt_mel = prompt_mel},
        .recorded = nullptr};
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

namespace {

// A GPU belongs to one rank of a process, the CPU to several.
at::Generator own_generator(const c10::Device& device) {
  return device.is_cpu() ? at::detail::createCPUGenerator()
                         : at::globalContext().defaultGenerator(device);
}

}  // namespace

GptPass::GptPass(const GptConfig& config, const GptTrainingSettings& settings,
                 const GptPassParts& parts)
    : settings_(settings), parts_(parts), random_(own_generator(torch_device(parts.device))) {
  if (settings.graphs) recorder_ = parts.device.make_graph_recorder();
  MYXTTS_CHECK(!settings.graphs || recorder_, "{} has no graphs", parts.device.name());
  if (settings.savers.recompute) parts_.gpt.recompute_layers(remember_random());
  if (settings.graphs) record_graphs(config);
  ask_on_the_way_back();
}

RememberRandom GptPass::remember_random() {
  if (!recorder_) return remember_generator(random_);
  return [this, eager = remember_generator(random_)]() -> std::function<void()> {
    if (!recording_) return eager();
    return [this, place = recorder_->random_place()] { recorder_->go_to(place); };
  };
}

// Sums of a step's only batch stand in its graph; of several batches they follow the last one's.
void GptPass::record_graphs(const GptConfig& config) {
  const bool sums = parts_.exchange != nullptr && settings_.batches_a_step == 1;
  const auto on = torch_device(parts_.device);
  // Losses that are not finite: where a backward pass updates, this one changes nothing.
  parts_.optimiser.losses().fill_(std::numeric_limits<float>::quiet_NaN());
  compute(smallest_inputs(config, settings_.prompt_frames, on), sums);
  parts_.optimiser.clear();

  const auto mel = at::zeros({settings_.slots, config.mel_bands, settings_.prompt_frames},
                             at::TensorOptions(on));
  recording_ = true;
  graphs_.emplace(parts_.device, *recorder_, settings_.sizes, mel,
                  [this, sums](const StepInputs& inputs) { compute(inputs, sums); });
  recording_ = false;
}

// Not where the backward pass updates: half an update is none.
bool GptPass::asks_on_the_way() const {
  return settings_.on_the_way && !settings_.graphs && !settings_.savers.release_gradients;
}

void GptPass::on_the_way() const {
  if (asks_on_the_way()) settings_.on_the_way();
}

// With each gradient that it has found.
void GptPass::ask_on_the_way_back() const {
  if (!asks_on_the_way()) return;
  for (const auto& [name, tensor] : parts_.parameters.tensors()) {
    if (!tensor.requires_grad()) continue;
    tensor.register_hook([this](const at::Tensor&) { settings_.on_the_way(); });
  }
}

GptPass::Found GptPass::forward(const StepInputs& inputs, double dropout) const {
  Found found;
  const auto latents = parts_.gpt.conditioning(inputs.prompt_mel);
  on_the_way();
  const auto states = parts_.gpt.states(inputs.rows, latents, dropout,
                                        settings_.guide > 0 ? &found.guide : nullptr);
  on_the_way();
  found.losses = gpt_losses(inputs.rows, parts_.gpt.logits(inputs.rows, states));
  return found;
}

// What is made small: the losses, and the guide's part. Adds all of them to those of the step.
at::Tensor GptPass::add_losses(const Found& found, const StepInputs& inputs) const {
  const GptLosses& losses = found.losses;
  std::vector<at::Tensor> all{losses.total, losses.text, losses.audio};
  auto wanted = losses.total;
  if (settings_.guide > 0) {
    all.push_back(found.guide.sum / (inputs.rows.audio_count * kGuidedLayers));
    wanted = wanted + all.back() * settings_.guide;
  }
  parts_.optimiser.losses().add_(at::stack(all).detach());
  return wanted;
}

// Before each backward pass: after an update, and after each batch where sums are kept apart.
bool GptPass::gradients_are_zero() const {
  return parts_.parameters.gradients().defined() &&
         (settings_.batches_a_step == 1 || parts_.parameters.copy().defined());
}

// One batch, and with it what the ranks have of the step where `sums` are wanted.
void GptPass::compute(const StepInputs& inputs, bool sums) const {
  if (sums && !parts_.optimiser.sums().defined()) parts_.exchange->open();
  backward(inputs);
  if (sums) parts_.exchange->finish(parts_.optimiser.sums(), parts_.optimiser.losses());
}

void GptPass::backward(const StepInputs& inputs) const {
  Optimiser& optimiser = parts_.optimiser;
  std::optional<ZeroGradientPromise> promise;
  if (gradients_are_zero()) promise.emplace();
  const auto wanted = add_losses(forward(inputs, settings_.dropout), inputs);
  if (settings_.savers.release_gradients) optimiser.begin();
  const auto& scale = optimiser.loss_scale();
  (scale.defined() ? wanted * scale : wanted).backward();
  if (settings_.savers.release_gradients) {
    optimiser.finish();
  } else {
    optimiser.add_up();
  }
}

// Without a pass that could send on the way.
void GptPass::sum_over_ranks() const {
  if (!parts_.optimiser.sums().defined()) parts_.exchange->open();
  parts_.exchange->finish(parts_.optimiser.sums(), parts_.optimiser.losses());
}

// Dropout is drawn anew for each batch from what the batch is, not from what was drawn before.
void GptPass::seed_dropout(std::int64_t step, std::uint64_t batch) {
  constexpr std::uint64_t kMostBatches = std::uint64_t{1} << 20;  // of a step
  const int rank = settings_.team->world().rank;
  const RandomStream seeds(settings_.seed,
                           rank == 0 ? "train/dropout" : fmt::format("train/dropout/{}", rank));
  random_.set_current_seed(seeds.bits(static_cast<std::uint64_t>(step) * kMostBatches + batch));
}

void GptPass::load(const DeviceBatch& batch) {
  has_clips_ = batch.rows.clips > 0;
  ends_step_ = batch.ends_step;
  if (!has_clips_) return;
  if (graphs_) {
    graphs_->load(batch);
  } else if (settings_.savers.release_gradients) {
    inputs_ = copy_of(batch);
  } else {
    inputs_ = {.rows = batch.rows, .prompt_mel = batch.prompt_mel};
  }
}

// Where an epoch ends, a rank may have no clip left: it adds nothing to what the others sum.
void GptPass::run(std::int64_t step, std::uint64_t batch) {
  seed_dropout(step, batch);
  const DropoutGenerator drawing(random_);
  const bool sums = parts_.exchange != nullptr && ends_step_;
  const bool on_the_way = has_clips_ && (!graphs_ || settings_.batches_a_step == 1);
  if (has_clips_ && graphs_) graphs_->replay();
  if (has_clips_ && !graphs_) compute(inputs_, sums);
  if (sums && !on_the_way) sum_over_ranks();
  inputs_ = {};
}

}  // namespace myxtts
