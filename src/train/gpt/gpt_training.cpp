// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/gpt_training.h"

#include <optional>

#include <ATen/ATen.h>

#include "base/error.h"
#include "device/torch_device.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "parallel/rank_tensors.h"
#include "train/frozen.h"
#include "train/gpt/gpt_pass.h"
#include "train/gpt/gradient_exchange.h"
#include "train/step/number_reader.h"
#include "train/step/optimiser.h"
#include "train/step/parameters.h"
#include "train/step/stage_training.h"

namespace myxtts {
namespace {

// Of sums over GPUs, which are faster than a network of the CPU's.
constexpr std::int64_t kBucketBytesOfGpus = std::int64_t{25} << 20;

ParameterLayout layout_of(const GptConfig& config, const std::vector<std::string>& freeze) {
  const auto specs = gpt_specs(config);
  std::vector<std::string> names;
  for (const auto& spec : specs) names.push_back(kGptPrefix + spec.name);
  return lay_out(specs, kGptPrefix, frozen_names(names, freeze));
}

OptimiserSettings optimiser_settings(const GptTrainingSettings& settings, std::int64_t trained,
                                     std::size_t losses) {
  const bool in_parts = !settings.team->is_alone() && settings.shard;
  return {
      .update = settings.update,
      .moments = settings.savers.moments,
      .scaled_loss = settings.precision == Precision::Fp16,
      .batches_a_step = settings.batches_a_step,
      .seed = settings.seed,
      .part = in_parts ? std::optional(own_share(settings.team->world(), trained)) : std::nullopt,
      .losses = static_cast<std::int64_t>(losses)};
}

const std::vector<std::string>& names_of_losses(const GptTrainingSettings& settings) {
  static const std::vector<std::string> names{"text_loss", "audio_loss"};
  static const std::vector<std::string> guided{"text_loss", "audio_loss", "guide_loss"};
  return settings.guide > 0 ? guided : names;
}

GptTrainingSettings checked(const GptTrainingSettings& settings) {
  if (settings.savers.release_gradients) {
    const std::string refusal =
        "--release-gradients on updates each layer before the next one's "
        "gradient is known, so it cannot be used with ";
    if (settings.update.clip) throw ConfigError(refusal + "--grad-clip. Leave one of them out.");
    if (settings.batches_a_step > 1) {
      throw ConfigError(refusal + "--grad-accum. Leave one of them out.");
    }
    if (settings.precision == Precision::Fp16) {
      throw ConfigError(refusal + "--precision fp16. Type --precision bf16 or fp32.");
    }
  }
  if (!settings.team->is_alone() && settings.savers.release_gradients) {
    throw ConfigError(
        "--release-gradients on lets go of gradients before other ranks have seen them; with "
        "several ranks leave it out.");
  }
  set_arithmetic(settings.precision, settings.deterministic);
  return settings;
}

}  // namespace

struct GptTraining::State {
  State(const GptConfig& gpt_config, const NamedTensors& weights, RoleDevice& role,
        const GptTrainingSettings& wanted)
      : settings(checked(wanted)),
        device(role),
        parameters(layout_of(gpt_config, wanted.freeze), weights, torch_device(role),
                   type_of(wanted.precision), !wanted.savers.release_gradients),
        gpt(gpt_config, parameters.tensors()),
        optimiser(parameters,
                  optimiser_settings(settings, parameters.layout().trained,
                                     names_of_losses(settings).size()),
                  device),
        numbers(device, {std::ssize(names_of_losses(settings))}) {
    if (settings.savers.release_gradients) release_gradients(parameters, optimiser);
    if (!settings.team->is_alone()) join_ranks(*settings.team);
    pass.emplace(gpt_config, settings,
                 GptPassParts{.device = device,
                              .gpt = gpt,
                              .parameters = parameters,
                              .optimiser = optimiser,
                              .exchange = exchange ? &*exchange : nullptr});
  }

  // What the device computes with a rank that is lost would otherwise never end.
  ~State() {
    if (ranks) ranks->settle();
  }

  void join_ranks(RankTeam& team) {
    ranks = make_rank_tensors(team, device);
    shares.emplace(team.world().size, *ranks, parameters, settings.shard);
    shares->begin_with_equal_weights();
    GradientExchangeSettings chosen{.wire = settings.wire};
    if (device.gpu() >= 0) chosen.bucket_bytes = kBucketBytesOfGpus;
    exchange.emplace(team, *ranks, parameters, chosen);
  }

  // Calls `work` as work of the role; LibTorch's errors become ours.
  template <typename Work>
  void queue(const Work& work) {
    const auto scope = device.enter(device.stream());
    try {
      work();
    } catch (const c10::Error&) {
      device.rethrow();
    }
  }

  const GptTrainingSettings settings;
  RoleDevice& device;
  Parameters parameters;
  Gpt gpt;
  Optimiser optimiser;
  NumberReader numbers;
  std::unique_ptr<RankTensors> ranks;        // where there are others
  std::optional<WeightShares> shares;        // likewise
  std::optional<GradientExchange> exchange;  // likewise
  std::optional<GptPass> pass;               // behind the ranks, whose sums its graphs hold
  std::int64_t step = 0;
  std::uint64_t batches = 0;  // of the step at work
};

GptTraining::GptTraining(const GptConfig& config, const NamedTensors& weights, RoleDevice& device,
                         const GptTrainingSettings& settings) {
  const auto scope = device.enter(device.stream());
  try {
    state_ = std::make_unique<State>(config, weights, device, settings);
  } catch (const c10::Error&) {
    device.rethrow();
  }
}

GptTraining::~GptTraining() = default;

const std::vector<std::string>& GptTraining::loss_names() const {
  return names_of_losses(state_->settings);
}

double GptTraining::total(std::span<const double> losses) const {
  return kTextLossWeight * losses[0] + losses[1];
}

// Where gradients are released the backward pass updates, so it waits for the learning rate.
void GptTraining::accumulate(DeviceBatch& batch) {
  State& s = *state_;
  s.queue([&] {
    batch.filled.hold_up(s.device.stream());
    s.pass->load(batch);
    if (!s.settings.savers.release_gradients) s.pass->run(s.step, s.batches);
    batch.consumed.record(s.device.stream());
  });
  ++s.batches;
}

void GptTraining::update(double learning_rate) {
  State& s = *state_;
  MYXTTS_CHECK(s.batches > 0, "an update without a batch");
  s.queue([&] {
    if (s.settings.savers.release_gradients) {
      s.optimiser.prepare(s.step + 1, learning_rate);
      s.pass->run(s.step, s.batches - 1);
    } else {
      s.optimiser.update(s.step + 1, learning_rate);
      if (s.shares) s.shares->gather_weights();
    }
    const UpdateReport* const report = s.optimiser.report();
    s.numbers.read(s.device.stream(), {&report, 1});
    if (s.ranks) s.ranks->step_queued();
  });
  ++s.step;
  s.batches = 0;
}

std::int64_t GptTraining::step() const {
  return state_->step;
}

RoleDevice& GptTraining::device() const {
  return state_->device;
}

std::vector<StepNumbers> GptTraining::take_numbers() {
  return state_->numbers.take();
}

std::vector<StepNumbers> GptTraining::finish_numbers() {
  auto numbers = state_->numbers.finish();
  if (state_->ranks) state_->ranks->require_whole();
  return numbers;
}

double GptTraining::take_waited() {
  if (!state_->exchange) return 0;
  return std::chrono::duration<double>(state_->exchange->take_waited()).count();
}

bool GptTraining::settle() {
  return !state_->ranks || state_->ranks->settle();
}

at::Tensor GptTraining::evaluate(DeviceBatch& batch) {
  State& s = *state_;
  const at::NoGradGuard no_grad;
  at::Tensor sums;  // [2, losses]
  s.queue([&] {
    batch.filled.hold_up(s.device.stream());
    if (batch.rows.clips == 0) {
      sums = at::zeros({2, std::ssize(loss_names())}, at::TensorOptions(torch_device(s.device)));
      return batch.consumed.record(s.device.stream());
    }
    const auto [losses, guide] =
        s.pass->forward({.rows = batch.rows, .prompt_mel = batch.prompt_mel}, 0.0);
    const auto counted = [](const at::Tensor& targets) { return targets.ne(-1).sum(at::kFloat); };
    std::vector<at::Tensor> found{losses.text_tokens.sum(), losses.audio_tokens.sum()};
    std::vector<at::Tensor> over{counted(batch.rows.text_targets),
                                 counted(batch.rows.audio_targets)};
    if (guide.sum.defined()) {
      found.push_back(guide.sum);
      over.push_back(guide.count);
    }
    sums = at::stack({at::stack(found), at::stack(over)});
    batch.consumed.record(s.device.stream());
  });
  return sums;
}

std::vector<std::string> GptTraining::overflowed() const {
  std::vector<std::string> names;
  state_->queue([&] { names = state_->optimiser.overflowed(); });
  return names;
}

NamedTensors GptTraining::weights() const {
  return state_->parameters.named_weights();
}

NamedTensors GptTraining::optimiser() const {
  NamedTensors all;
  state_->queue([&] {
    all = state_->optimiser.tensors(
        [this](const at::Tensor& flat, std::int64_t unit) { state_->shares->gather(flat, unit); });
  });
  return all;
}

NamedTensors GptTraining::kept() const {
  const Parameters& parameters = state_->parameters;
  NamedTensors all = optimiser();
  for (const auto& [name, weight] : weights()) all.emplace("weight." + name, weight);
  for (const auto& [name, tensor] : parameters.tensors()) {
    if (parameters.copy().defined()) all.emplace("copy." + name, tensor.detach());
    if (tensor.grad().defined()) all.emplace("gradient." + name, tensor.grad());
  }
  return all;
}

void GptTraining::restore(std::int64_t step, const NamedTensors& weights,
                          const NamedTensors& optimiser) {
  State& s = *state_;
  s.queue([&] {
    s.parameters.load(weights);
    s.optimiser.load(optimiser);
  });
  s.step = step;
  s.batches = 0;
}

}  // namespace myxtts
