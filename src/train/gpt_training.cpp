// SPDX-License-Identifier: Apache-2.0
#include "train/gpt_training.h"

#include <limits>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "base/error.h"
#include "base/random.h"
#include "device/torch_device.h"
#include "kernels/training/dropout.h"
#include "kernels/training/gradient_target.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/losses.h"
#include "train/arithmetic.h"
#include "train/frozen.h"
#include "train/gradient_exchange.h"
#include "train/number_reader.h"
#include "train/optimiser.h"
#include "train/parameters.h"
#include "train/released_gradients.h"
#include "train/step_graphs.h"
#include "train/step_inputs.h"
#include "train/weight_shares.h"

namespace myxtts {
namespace {

ParameterLayout layout_of(const GptConfig& config, const std::vector<std::string>& freeze) {
  const auto specs = gpt_specs(config);
  std::vector<std::string> names;
  for (const auto& spec : specs) names.push_back(kGptPrefix + spec.name);
  return lay_out(specs, kGptPrefix, frozen_names(names, freeze));
}

OptimiserSettings optimiser_settings(const GptTrainingSettings& settings, std::int64_t trained,
                                     std::size_t losses) {
  const bool in_parts = settings.team != nullptr && settings.shard;
  return {.update = settings.update,
          .moments = settings.savers.moments,
          .scaled_loss = settings.precision == Precision::Fp16,
          .batches_a_step = settings.batches_a_step,
          .seed = settings.seed,
          .part = in_parts ? std::optional(own_share(*settings.team, trained)) : std::nullopt,
          .losses = static_cast<std::int64_t>(losses)};
}

const std::vector<std::string>& names_of_losses(const GptTrainingSettings& settings) {
  static const std::vector<std::string> names{"text_loss", "audio_loss"};
  static const std::vector<std::string> guided{"text_loss", "audio_loss", "guide_loss"};
  return settings.guide > 0 ? guided : names;
}

// A GPU belongs to one rank of a process, the CPU to several.
at::Generator own_generator(const c10::Device& device) {
  return device.is_cpu() ? at::detail::createCPUGenerator()
                         : at::globalContext().defaultGenerator(device);
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
  if (settings.team != nullptr && (settings.savers.release_gradients || settings.graphs)) {
    throw ConfigError(
        settings.graphs
            ? "Several ranks train on the CPU alone so far; add --device cpu."
            : "--release-gradients on lets go of gradients before other ranks have seen them; "
              "with several ranks leave it out.");
  }
  set_arithmetic(settings.precision, settings.deterministic);
  return settings;
}

}  // namespace

struct GptTraining::State {
  State(const GptConfig& gpt_config, const NamedTensors& weights, RoleDevice& role,
        const GptTrainingSettings& wanted)
      : config(gpt_config),
        settings(checked(wanted)),
        device(role),
        random(own_generator(torch_device(role))),
        parameters(layout_of(config, wanted.freeze), weights, torch_device(role),
                   type_of(wanted.precision), !wanted.savers.release_gradients),
        gpt(config, parameters.tensors()),
        optimiser(parameters,
                  optimiser_settings(settings, parameters.layout().trained,
                                     names_of_losses(settings).size()),
                  device),
        numbers(device, {std::ssize(names_of_losses(settings))}) {
    if (settings.graphs) recorder = device.make_graph_recorder();
    MYXTTS_CHECK(!settings.graphs || recorder, "{} has no graphs", device.name());
    if (settings.savers.recompute) gpt.recompute_layers(remember_random());
    if (settings.savers.release_gradients) release_gradients(parameters, optimiser);
    if (settings.graphs) record_graphs();
    ask_on_the_way_back();
    if (settings.team != nullptr) join_ranks();
  }

  void join_ranks() {
    shares.emplace(*settings.team, parameters, settings.shard);
    shares->begin_with_equal_weights();
    exchange.emplace(*settings.team, parameters, settings.wire);
  }

  RememberRandom remember_random() {
    if (!recorder) return remember_generator(random);
    return [this, eager = remember_generator(random)]() -> std::function<void()> {
      if (!recording) return eager();
      return [this, place = recorder->random_place()] { recorder->go_to(place); };
    };
  }

  void record_graphs() {
    const auto on = torch_device(device);
    // Losses that are not finite: where a backward pass updates, this one changes nothing.
    optimiser.losses().fill_(std::numeric_limits<float>::quiet_NaN());
    pass(smallest_inputs(config, settings.prompt_frames, on));
    optimiser.clear();

    const auto mel = at::zeros({settings.slots, config.mel_bands, settings.prompt_frames},
                               at::TensorOptions(on));
    recording = true;
    graphs.emplace(device, *recorder, settings.sizes, mel,
                   [this](const StepInputs& inputs) { pass(inputs); });
    recording = false;
  }

  // Not where the backward pass updates: half an update is none.
  bool asks_on_the_way() const {
    return settings.on_the_way && !settings.graphs && !settings.savers.release_gradients;
  }

  void on_the_way() const {
    if (asks_on_the_way()) settings.on_the_way();
  }

  // With each gradient that it has found.
  void ask_on_the_way_back() const {
    if (!asks_on_the_way()) return;
    for (const auto& [name, tensor] : parameters.tensors()) {
      if (!tensor.requires_grad()) continue;
      tensor.register_hook([this](const at::Tensor&) { settings.on_the_way(); });
    }
  }

  struct Found {
    GptLosses losses;
    GuideSums guide;  // where there is a guide
  };

  Found forward(const StepInputs& inputs, double dropout) const {
    Found found;
    const auto latents = gpt.conditioning(inputs.prompt_mel);
    on_the_way();
    const auto states =
        gpt.states(inputs.rows, latents, dropout, settings.guide > 0 ? &found.guide : nullptr);
    on_the_way();
    found.losses = gpt_losses(inputs.rows, gpt.logits(inputs.rows, states));
    return found;
  }

  // What is made small: the losses, and the guide's part. Adds all of them to those of the step.
  at::Tensor add_losses(const Found& found, const StepInputs& inputs) {
    const GptLosses& losses = found.losses;
    std::vector<at::Tensor> all{losses.total, losses.text, losses.audio};
    auto wanted = losses.total;
    if (settings.guide > 0) {
      all.push_back(found.guide.sum / (inputs.rows.audio_count * kGuidedLayers));
      wanted = wanted + all.back() * settings.guide;
    }
    optimiser.losses().add_(at::stack(all).detach());
    return wanted;
  }

  // Before each backward pass: after an update, and after each batch where sums are kept apart.
  bool gradients_are_zero() const {
    return parameters.gradients().defined() && !exchange &&  // which must see each gradient
           (settings.batches_a_step == 1 || parameters.copy().defined());
  }

  // Forward and backward of one batch, and its losses.
  void pass(const StepInputs& inputs) {
    std::optional<ZeroGradientPromise> promise;
    if (gradients_are_zero()) promise.emplace();
    const auto wanted = add_losses(forward(inputs, settings.dropout), inputs);
    if (settings.savers.release_gradients) optimiser.begin();
    const auto& scale = optimiser.loss_scale();
    (scale.defined() ? wanted * scale : wanted).backward();
    if (settings.savers.release_gradients) {
      optimiser.finish();
    } else {
      optimiser.add_up();
    }
  }

  // Dropout is drawn anew for each batch from what the batch is, not from what was drawn before.
  void seed_dropout() {
    constexpr std::uint64_t kMostBatches = std::uint64_t{1} << 20;  // of a step
    const int rank = settings.team == nullptr ? 0 : settings.team->world().rank;
    const RandomStream seeds(settings.seed,
                             rank == 0 ? "train/dropout" : fmt::format("train/dropout/{}", rank));
    random.set_current_seed(seeds.bits(static_cast<std::uint64_t>(step) * kMostBatches + batches));
  }

  // Takes what the step needs of a batch.
  void load(DeviceBatch& batch) {
    if (graphs) {
      graphs->load(batch);
    } else if (settings.savers.release_gradients) {
      waiting = copy_of(batch);
    } else {
      waiting = {.rows = batch.rows, .prompt_mel = batch.prompt_mel};
    }
  }

  void run_pass() {
    seed_dropout();
    const DropoutGenerator drawing(random);
    if (graphs) {
      graphs->replay();
    } else {
      // Where an epoch ends, a rank may have no clip left: it adds nothing to what the others sum.
      if (waiting.rows.clips > 0) pass(waiting);
      waiting = {};
    }
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

  const GptConfig config;
  const GptTrainingSettings settings;
  RoleDevice& device;
  at::Generator random;  // of dropout
  Parameters parameters;
  Gpt gpt;
  Optimiser optimiser;
  NumberReader numbers;
  std::optional<WeightShares> shares;        // with other ranks
  std::optional<GradientExchange> exchange;  // likewise
  std::unique_ptr<GraphRecorder> recorder;
  std::optional<StepGraphs> graphs;
  bool recording = false;
  StepInputs waiting;  // without graphs: the batch that was loaded
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
    s.load(batch);
    if (s.exchange && batch.ends_step) s.exchange->open();
    if (!s.settings.savers.release_gradients) s.run_pass();
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
      --s.batches;
      s.run_pass();
    } else {
      if (s.exchange) s.exchange->finish(s.optimiser.sums(), s.optimiser.losses());
      s.optimiser.update(s.step + 1, learning_rate);
      if (s.shares) s.shares->gather_weights();
    }
    const UpdateReport* const report = s.optimiser.report();
    s.numbers.read(s.device.stream(), {&report, 1});
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
  return state_->numbers.finish();
}

double GptTraining::take_waited() {
  if (!state_->exchange) return 0;
  return std::chrono::duration<double>(state_->exchange->take_waited()).count();
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
        s.forward({.rows = batch.rows, .prompt_mel = batch.prompt_mel}, 0.0);
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

NamedTensors GptTraining::weights() const {
  return state_->parameters.named_weights();
}

NamedTensors GptTraining::optimiser() const {
  return state_->optimiser.tensors(
      [this](const at::Tensor& flat, std::int64_t unit) { state_->shares->gather(flat, unit); });
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
