// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/gpt_training.h"

#include <chrono>
#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "base/error.h"
#include "base/random.h"
#include "data/batches/batch_plan.h"
#include "device/torch_device.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/op_tensors.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "parallel/rank_tensors.h"
#include "run/open_model.h"
#include "train/gpt/gradient_exchange.h"
#include "train/gpt/step_graphs.h"

namespace myxtts {
namespace {

// Of sums over GPUs, which are faster than a network of the CPU's.
constexpr std::int64_t kBucketBytesOfGpus = std::int64_t{25} << 20;

void refuse_impossible(const GptTrainingSettings& settings) {
  if (!settings.savers.release_gradients) return;
  const std::string refusal =
      "--release-gradients on updates each layer before the next one's "
      "gradient is known, so it cannot be used with ";
  if (settings.step.grad_clip) throw ConfigError(refusal + "--grad-clip. Leave one of them out.");
  if (settings.step.batches_a_step > 1) {
    throw ConfigError(refusal + "--grad-accum. Leave one of them out.");
  }
  if (settings.step.precision == Precision::Fp16) {
    throw ConfigError(refusal + "--precision fp16. Type --precision bf16 or fp32.");
  }
  if (!settings.team->is_alone()) {
    throw ConfigError(
        "--release-gradients on lets go of gradients before other ranks have seen them; with "
        "several ranks leave it out.");
  }
}

// A backward pass that updates is never interrupted: half an update is none.
StepSettings checked_step(const GptTrainingSettings& settings) {
  refuse_impossible(settings);
  StepSettings step = settings.step;
  if (settings.savers.release_gradients) step.poll = nullptr;
  return step;
}

std::vector<std::string> names_of_losses(const GptTrainingSettings& settings) {
  if (settings.guide > 0) return {"text_loss", "audio_loss", "guide_loss"};
  return {"text_loss", "audio_loss"};
}

ParameterLayout layout_of(const GptConfig& config, const std::vector<std::string>& freeze) {
  const auto specs = gpt_specs(config);
  return lay_out(specs, kGptPrefix, frozen_parameters(specs, kGptPrefix, freeze));
}

// A GPU belongs to one rank of a process, the CPU to several.
at::Generator own_generator(const c10::Device& device) {
  return device.is_cpu() ? at::detail::createCPUGenerator()
                         : at::globalContext().defaultGenerator(device);
}

// Forward and backward are computed as batches come, or recorded once for each size as a CUDA graph
// and replayed. Gradients stay in the parameters and losses in the optimiser; with the last batch
// of a step they are summed over the ranks, during the backward pass where possible.
class GptTraining final : public PartTraining {
 public:
  GptTraining(RoleDevice& device, const GptConfig& config, const NamedTensors& weights,
              const GptTrainingSettings& settings)
      : PartTraining(device, checked_step(settings), names_of_losses(settings)),
        settings_(settings),
        parameters_(layout_of(config, settings.step.freeze), weights, torch_device(device),
                    type_of(settings.step.precision), !settings.savers.release_gradients),
        gpt_(config, parameters_.tensors()),
        optimiser_(parameters_, own_optimiser_settings(), device),
        random_(own_generator(torch_device(device))) {
    if (settings_.savers.release_gradients) release_gradients(parameters_, optimiser_);
    if (!settings_.team->is_alone()) join_ranks(*settings_.team);
    if (settings_.step.graphs) {
      recorder_ = device.make_graph_recorder();
      MYXTTS_CHECK(recorder_, "{} has no graphs", device.name());
    }
    if (settings_.savers.recompute) gpt_.recompute_layers(remember_random());
    if (settings_.step.graphs) record_graphs(config);
    poll_in_backward(parameters_);
  }

  // What the device computes with a rank that is lost would otherwise never end.
  ~GptTraining() override {
    if (ranks_) ranks_->wait_for_queued();
  }

  double total(std::span<const double> losses) const override {
    return kTextLossWeight * losses[0] + losses[1];
  }

  std::vector<StepNumbers> finish_numbers() override {
    auto numbers = PartTraining::finish_numbers();
    if (ranks_) ranks_->require_whole();
    return numbers;
  }

  double take_waited() override {
    return exchange_ ? std::chrono::duration<double>(exchange_->take_waited()).count() : 0;
  }

  bool finish_queued() override { return !ranks_ || ranks_->wait_for_queued(); }

  NamedTensors weights() const override { return parameters_.named_weights(); }

  NamedTensors optimiser() const override {
    NamedTensors all;
    run_on(device(), [&] {
      all = optimiser_.tensors(
          [this](const at::Tensor& flat, std::int64_t unit) { gather(flat, unit); });
    });
    return all;
  }

 private:
  std::vector<const Optimiser*> optimisers() const override { return {&optimiser_}; }

  void pass(const DeviceBatch& batch) override;
  void apply(double learning_rate) override;
  void step_queued() override {
    if (ranks_) ranks_->step_queued();
  }
  at::Tensor measure(const DeviceBatch& batch) const override;

  // Moments that were kept in another precision are converted.
  void load(const NamedTensors& weights, const NamedTensors& optimiser) override {
    parameters_.load(weights);
    optimiser_.load(optimiser);
  }

  OptimiserSettings own_optimiser_settings() const;
  void join_ranks(RankTeam& team);
  void gather(const at::Tensor& flat, std::int64_t unit) const;
  RememberRandom remember_random();
  void record_graphs(const GptConfig& config);

  void take_inputs(const DeviceBatch& batch);
  void run(std::uint64_t batch);
  void seed_dropout(std::uint64_t batch);
  void compute(const Batch<TensorOf>& inputs, bool sums);
  void backward(const Batch<TensorOf>& inputs);
  GptLosses forward(const Batch<TensorOf>& inputs, double dropout, GuideSums& guide) const;
  at::Tensor add_losses(const Batch<TensorOf>& inputs, const GptLosses& losses,
                        const GuideSums& guide);
  bool gradients_are_zero() const;
  void sum_over_ranks();

  const GptTrainingSettings settings_;
  Parameters parameters_;
  Gpt gpt_;
  Optimiser optimiser_;
  std::unique_ptr<RankTensors> ranks_;        // where there are others
  std::optional<GradientExchange> exchange_;  // likewise
  at::Generator random_;                      // of dropout
  std::unique_ptr<GraphRecorder> recorder_;
  std::optional<StepGraphs> graphs_;  // behind the ranks, whose sums they hold
  bool recording_ = false;

  // Of the last batch.
  bool has_clips_ = false;
  bool ends_step_ = true;
  Batch<TensorOf> inputs_;  // without graphs
};

OptimiserSettings GptTraining::own_optimiser_settings() const {
  OptimiserSettings chosen =
      optimiser_settings(settings_.step, /*beta1=*/0.9, /*beta2=*/0.96, loss_names().size());
  chosen.moments = settings_.savers.moments;
  if (!settings_.team->is_alone() && settings_.shard) {
    const World& world = settings_.team->world();
    chosen.part =
        part_of_rank(parameters_.layout().trained, kAdamWAlignment, world.rank, world.size);
  }
  return chosen;
}

void GptTraining::join_ranks(RankTeam& team) {
  ranks_ = make_rank_tensors(team, device());
  // Every rank made or read the same weights; those of rank 0 count.
  ranks_->all_gather({parameters_.weights()});
  parameters_.refresh_copy();
  exchange_.emplace(team, *ranks_, parameters_, settings_.wire,
                    device().gpu() >= 0 ? kBucketBytesOfGpus : kUsualBucketBytes);
}

// Every rank's part of a flat array of the trained numbers, of which one stands for `unit` of them.
void GptTraining::gather(const at::Tensor& flat, std::int64_t unit) const {
  std::vector<at::Tensor> parts;
  const int ranks = settings_.team->world().size;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto part = part_of_rank(parameters_.layout().trained, kAdamWAlignment, rank, ranks);
    parts.push_back(flat.narrow(0, part.first / unit, part.count / unit));
  }
  ranks_->all_gather(parts);
}

RememberRandom GptTraining::remember_random() {
  if (!recorder_) return remember_generator(random_);
  return [this, eager = remember_generator(random_)]() -> std::function<void()> {
    if (!recording_) return eager();
    return [this, place = recorder_->random_place()] { recorder_->go_to(place); };
  };
}

// Sums of a step's only batch stand in its graph; of several batches they follow the last one's.
void GptTraining::record_graphs(const GptConfig& config) {
  const bool sums = exchange_ && settings_.step.batches_a_step == 1;
  const auto on = torch_device(device());
  // Losses that are not finite: where a backward pass updates, this one changes nothing.
  optimiser_.losses().fill_(std::numeric_limits<float>::quiet_NaN());
  compute(smallest_inputs(config, settings_.prompt_frames, on), sums);
  optimiser_.clear();

  const auto mel = at::zeros({settings_.slots, config.mel_bands, settings_.prompt_frames},
                             at::TensorOptions(on));
  recording_ = true;
  graphs_.emplace(device(), *recorder_, settings_.sizes, mel,
                  [this, sums](const Batch<TensorOf>& inputs) { compute(inputs, sums); });
  recording_ = false;
}

// Where gradients are released the backward pass updates, so it waits for the learning rate.
void GptTraining::pass(const DeviceBatch& batch) {
  take_inputs(batch);
  if (!settings_.savers.release_gradients) run(batches());
}

void GptTraining::apply(double learning_rate) {
  if (settings_.savers.release_gradients) {
    optimiser_.prepare(step() + 1, learning_rate);
    run(batches() - 1);
  } else {
    optimiser_.update(step() + 1, learning_rate);
    if (ranks_ && settings_.shard) {
      gather(parameters_.weights(), 1);
      parameters_.refresh_copy();
    }
  }
}

void GptTraining::take_inputs(const DeviceBatch& batch) {
  has_clips_ = batch.rows.clips > 0;
  ends_step_ = batch.ends_step;
  if (!has_clips_) return;
  if (graphs_) {
    graphs_->load(batch);
  } else if (settings_.savers.release_gradients) {
    inputs_ = copy_of(batch);
  } else {
    inputs_.rows = batch.rows;
    inputs_.prompt_mel = batch.prompt_mel;
  }
}

// The pass of the inputs that were taken. Where an epoch ends, a rank may have no clip left: it
// adds nothing to what the others sum.
void GptTraining::run(std::uint64_t batch) {
  seed_dropout(batch);
  const DropoutGenerator drawing(random_);
  const bool sums = exchange_ && ends_step_;
  const bool pass_sums = has_clips_ && (!graphs_ || settings_.step.batches_a_step == 1);
  if (has_clips_ && graphs_) graphs_->replay();
  if (has_clips_ && !graphs_) compute(inputs_, sums);
  if (sums && !pass_sums) sum_over_ranks();
  inputs_ = {};
}

// Dropout is drawn anew for each batch from what the batch is, not from what was drawn before.
void GptTraining::seed_dropout(std::uint64_t batch) {
  constexpr std::uint64_t kMostBatches = std::uint64_t{1} << 20;  // of a step
  const int rank = settings_.team->world().rank;
  const RandomStream seeds(settings_.step.seed,
                           rank == 0 ? "train/dropout" : fmt::format("train/dropout/{}", rank));
  random_.set_current_seed(seeds.bits(static_cast<std::uint64_t>(step()) * kMostBatches + batch));
}

// One batch; where `sums` are wanted, the gradients of the step are summed over the ranks with it.
void GptTraining::compute(const Batch<TensorOf>& inputs, bool sums) {
  if (sums && !optimiser_.sums().defined()) exchange_->open();
  backward(inputs);
  if (sums) exchange_->finish(optimiser_.sums(), optimiser_.losses());
}

void GptTraining::backward(const Batch<TensorOf>& inputs) {
  std::optional<ZeroGradientPromise> promise;
  if (gradients_are_zero()) promise.emplace();
  GuideSums guide;
  const auto loss = add_losses(inputs, forward(inputs, settings_.dropout, guide), guide);
  if (settings_.savers.release_gradients) optimiser_.begin();
  const auto& scale = optimiser_.loss_scale();
  (scale.defined() ? loss * scale : loss).backward();
  if (settings_.savers.release_gradients) {
    optimiser_.finish();
  } else {
    optimiser_.add_up();
  }
}

// Where there is a guide, `guide` becomes its sums.
GptLosses GptTraining::forward(const Batch<TensorOf>& inputs, double dropout,
                               GuideSums& guide) const {
  const auto latents = gpt_.conditioning(inputs.prompt_mel);
  poll();
  const auto states =
      gpt_.states(inputs.rows, latents, dropout, settings_.guide > 0 ? &guide : nullptr);
  poll();
  return gpt_losses(inputs.rows, gpt_.logits(inputs.rows, states));
}

// Adds the losses to those of the step. Gives the one to train: their sum and the guide's part.
at::Tensor GptTraining::add_losses(const Batch<TensorOf>& inputs, const GptLosses& losses,
                                   const GuideSums& guide) {
  std::vector<at::Tensor> all{losses.total, losses.text, losses.audio};
  auto trained = losses.total;
  if (settings_.guide > 0) {
    all.push_back(guide.sum / (inputs.rows.audio_count * kGuidedLayers));
    trained = trained + all.back() * settings_.guide;
  }
  optimiser_.losses().add_(at::stack(all).detach());
  return trained;
}

// Before each backward pass: after an update, and after each batch where sums are kept apart.
bool GptTraining::gradients_are_zero() const {
  return parameters_.gradients().defined() &&
         (settings_.step.batches_a_step == 1 || parameters_.copy().defined());
}

// After the last pass of a step, which summed nothing itself.
void GptTraining::sum_over_ranks() {
  if (!optimiser_.sums().defined()) exchange_->open();
  exchange_->finish(optimiser_.sums(), optimiser_.losses());
}

// Token losses without dropout, in the step's arithmetic.
at::Tensor GptTraining::measure(const DeviceBatch& batch) const {
  if (batch.rows.clips == 0) {
    return at::zeros({2, std::ssize(loss_names())}, at::TensorOptions(torch_device(device())));
  }
  GuideSums guide;
  const GptLosses losses = forward(batch, /*dropout=*/0.0, guide);
  const auto counted = [](const at::Tensor& targets) { return targets.ne(-1).sum(at::kFloat); };
  std::vector<at::Tensor> found{losses.text_tokens.sum(), losses.audio_tokens.sum()};
  std::vector<at::Tensor> over{counted(batch.rows.text_targets), counted(batch.rows.audio_targets)};
  if (guide.sum.defined()) {
    found.push_back(guide.sum);
    over.push_back(guide.count);
  }
  return at::stack({at::stack(found), at::stack(over)});
}

}  // namespace

std::unique_ptr<PartTraining> make_gpt_training(const GptConfig& config,
                                                const NamedTensors& weights, RoleDevice& device,
                                                const GptTrainingSettings& settings) {
  return make_on<GptTraining>(device, config, weights, settings);
}

std::unique_ptr<PartTraining> make_gpt_training(const TrainingInputs& inputs) {
  const TrainConfig& train = inputs.config.train;
  return make_gpt_training(inputs.model.config.gpt, inputs.model.model, inputs.device,
                           {.step = step_settings(inputs),
                            .savers = inputs.plan.savers,
                            .dropout = train.dropout,
                            .guide = train.guide,
                            .sizes = inputs.batches.sizes(),
                            .slots = inputs.batches.slots(),
                            .team = inputs.team,
                            .wire = inputs.config.parallel.wire,
                            .shard = inputs.config.parallel.shard_optimiser});
}

}  // namespace myxtts
