// SPDX-License-Identifier: Apache-2.0
#include "diagnose/memory/memory_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/run_config.h"
#include "data/batches/sound_window.h"
#include "device/plan/plan_devices.h"
#include "diagnose/report/report.h"
#include "model/checkpoint_specs.h"
#include "model/memory_estimate.h"
#include "model/network_specs.h"
#include "model/tensor_spec.h"

namespace myxtts {
namespace {

constexpr std::int64_t kFloat = 4;             // bytes
constexpr std::int64_t kTrained = 4 * kFloat;  // of a parameter: weight, gradient, two averages
constexpr std::int64_t kKept = 4;              // tensors that a convolution and its activation keep
constexpr std::int64_t kSlack = 512 << 20;     // bytes: work spaces of libraries

// Numbers that a window's forward pass keeps.
std::int64_t dvae_activations(const DvaeConfig& dvae, std::int64_t frames) {
  const std::int64_t block = 3 * dvae.channels;
  const std::int64_t quarter =
      2 * dvae.blocks * block + 4 * dvae.codebook_dim + 2 * dvae.codes + 2 * dvae.channels;
  return kKept * (quarter * frames / 4 + (dvae.hidden + dvae.channels) * frames / 2 +
                  (dvae.hidden + 2 * dvae.mel_bands) * frames);
}

std::int64_t decoder_activations(const DecoderConfig& decoder, std::int64_t frames) {
  const auto convolutions = static_cast<std::int64_t>(2 * decoder.resblock_kernels.size() *
                                                      decoder.resblock_dilations.size());
  std::int64_t sum = 0;
  std::int64_t channels = decoder.initial_channels;
  std::int64_t length = frames;
  for (const std::int64_t rate : decoder.upsample_rates) {
    channels /= 2;
    length *= rate;
    sum += 2 * convolutions * channels * length;
  }
  return 3 * sum;  // the discriminators judge both the recording and what was made of it
}

std::int64_t speaker_activations(const SpeakerEncoderConfig& encoder, std::int64_t samples) {
  std::int64_t sum = 0;
  std::int64_t place = encoder.mel_bands * (samples / encoder.hop + 1);
  for (std::size_t layer = 0; layer < encoder.layers.size(); ++layer) {
    if (layer > 0) place /= 4;
    sum += 2 * kKept * encoder.layers[layer] * encoder.filters[layer] * place;
  }
  return sum;
}

// What the training of a part takes that is trained on windows.
struct PartMemory {
  ModelPart part = ModelPart::Gpt;
  std::int64_t networks = 1;  // of its size, together with those that only its training needs
  bool beside_gpt = false;    // it is trained on the states of the frozen GPT
  std::int64_t (*activations)(const ModelConfig& model, std::int64_t length) = nullptr;
};

constexpr std::array kPartMemory{
    PartMemory{
        .part = ModelPart::Dvae,
        .activations = [](const ModelConfig& model,
                          std::int64_t length) { return dvae_activations(model.dvae, length); }},
    // The discriminators have about as many parameters as two decoders.
    PartMemory{.part = ModelPart::Decoder,
               .networks = 3,
               .beside_gpt = true,
               .activations =
                   [](const ModelConfig& model, std::int64_t length) {
                     return decoder_activations(model.decoder, length);
                   }},
    PartMemory{.part = ModelPart::Speaker,
               .activations = [](const ModelConfig& model, std::int64_t length) {
                 return speaker_activations(model.speaker_encoder, length);
               }}};

// usual_memory_model() of a part other than the GPT, from the sizes of its networks: counted more
// roughly, for windows of the usual length.
MemoryModel part_memory_model(const ModelConfig& model, const TrainConfig& train) {
  const auto* const part = std::ranges::find(kPartMemory, train.stage, &PartMemory::part);
  MYXTTS_CHECK(part != kPartMemory.end(), "no estimate of memory for {}", name_of(train.stage));
  const WindowPlan windows = plan_windows(train, model, 1);
  return [model, windows, part](Precision, bool) {
    const BatchShape clip = usual_batch(model.gpt, 1);
    const std::int64_t trained = part->networks * parameters_of(model, part->part);
    const std::int64_t frozen = part->beside_gpt ? parameters_of(model, ModelPart::Gpt) : 0;
    const std::int64_t activations = part->activations(model, windows.length);
    MemoryNeeds needs;
    needs.model.fixed_bytes = kTrained * trained + kFloat * frozen + kSlack;
    needs.model.clip_bytes = kFloat * windows.per_clip * activations;
    needs.sum_bytes = 0;
    needs.data.fixed_bytes = feature_memory(model, {});
    needs.data.clip_bytes = feature_memory(model, clip) - needs.data.fixed_bytes;
    needs.slot_bytes = slot_memory(model, clip) + kFloat * windows.per_clip * windows.samples();
    needs.clip_tokens = clip.tokens;
    return needs;
  };
}

constexpr std::int64_t kWorthwhileBatch = 4;  // clips; smaller ones leave most of a GPU idle

// What the model role may take.
std::int64_t room_of(const DevicePlan& plan) {
  const std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t cap = plan.model.memory_cap_bytes.value_or(no_limit);
  if (!plan.model.gpu) return cap;
  const std::int64_t card = plan.model.gpu->memory_bytes;
  const bool shared = plan.mode != Mode::Dual;
  return std::min(cap, card - card / 32 - kContextBytes - (shared ? plan.data.estimated_bytes : 0));
}

std::string what_is_saved(const MemorySavers& savers) {
  std::vector<std::string> parts;
  if (savers.moments == Moments::Bf16) parts.emplace_back("AdamW's averages are kept in bf16");
  if (savers.moments == Moments::EightBit) parts.emplace_back("AdamW's averages in 8 bits");
  if (savers.recompute) parts.emplace_back("layers are computed a second time");
  if (savers.release_gradients) parts.emplace_back("gradients are let go of as they are used");
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_note(DevicePlan& found, const MemorySavers& plain) {
  if (found.savers == plain) return;
  found.notes.push_back(fmt::format(
      "To fit into {}, {}: {} by estimate; --moments, --recompute and --release-gradients set it.",
      human_size(std::max<std::int64_t>(room_of(found), 0)), what_is_saved(found.savers),
      human_size(found.model.estimated_bytes)));
}

// What suits its windows, rather than as many clips as memory holds; the savers are the GPT's.
DevicePlan plan_part(RunConfig config, const Machine& machine, const ModelConfig& model,
                     const std::string& cuda_fault) {
  TrainConfig& train = config.train;
  if (!train.batch_size && !train.batch_tokens) train.batch_size = facts_of(train.stage).batch_size;
  DevicePlan plan = plan_devices(config, machine, part_memory_model(model, train), cuda_fault);
  plan.savers.moments = train.moments.value_or(Moments::Fp32);
  plan.notes.push_back(
      fmt::format("The memory of the part {} is a rough estimate.", name_of(train.stage)));
  return plan;
}

}  // namespace

std::int64_t parameters_of(const ModelConfig& model, ModelPart part) {
  const PartFacts& facts = facts_of(part);
  TensorSpecs specs = facts.file == files::kDvae ? dvae_specs(model.dvae) : checkpoint_specs(model);
  std::erase_if(specs,
                [&](const TensorSpec& spec) { return !spec.name.starts_with(facts.prefix); });
  return parameter_count(specs);
}

MemoryModel usual_memory_model(const ModelConfig& model, const MemorySavers& savers, bool guided) {
  return [model, savers, guided](Precision precision, bool cpu) {
    const StepKind kind = {.precision = precision, .cpu = cpu, .savers = savers, .guided = guided};
    StepKind summing = kind;
    summing.batches_a_step = 2;
    const BatchShape clip = usual_batch(model.gpt, 1);
    const auto training = [&](const BatchShape& batch) {
      return training_memory(model, batch, kind).total();
    };
    MemoryNeeds needs;
    needs.model.fixed_bytes = training({});
    needs.model.clip_bytes = training(clip) - needs.model.fixed_bytes;
    needs.sum_bytes = training_memory(model, {}, summing).total() - needs.model.fixed_bytes;
    if (savers.release_gradients) needs.sum_bytes.reset();
    needs.data.fixed_bytes = feature_memory(model, {});
    needs.data.clip_bytes = feature_memory(model, clip) - needs.data.fixed_bytes;
    needs.slot_bytes = slot_memory(model, clip);
    needs.clip_tokens = clip.tokens;
    return needs;
  };
}

bool fits_by_estimate(const DevicePlan& plan) {
  return with_margin(plan.model.estimated_bytes) <= room_of(plan);
}

std::vector<MemorySavers> saver_choices(const TrainConfig& train) {
  const bool can_release =
      !train.grad_clip && train.grad_accum == 1 && train.precision != Precision::Fp16;
  const std::vector<MemorySavers> by_price = {
      {},
      {.moments = Moments::Bf16},
      {.recompute = true, .moments = Moments::Bf16},
      {.recompute = true, .moments = Moments::EightBit},
      {.recompute = true, .moments = Moments::EightBit, .release_gradients = can_release}};
  std::vector<MemorySavers> choices;
  for (const MemorySavers& usual : by_price) {
    const MemorySavers choice = {
        .recompute = train.recompute.value_or(usual.recompute),
        .moments = train.moments.value_or(usual.moments),
        .release_gradients = train.release_gradients.value_or(usual.release_gradients)};
    if (choices.empty() || choices.back() != choice) choices.push_back(choice);
  }
  return choices;
}

DevicePlan plan_with_savers(const RunConfig& config, const Machine& machine,
                            const ModelConfig& model, const std::string& cuda_fault) {
  if (facts_of(config.train.stage).on_windows) return plan_part(config, machine, model, cuda_fault);
  const auto choices = saver_choices(config.train);
  const auto planned = [&](const MemorySavers& savers) {
    const auto memory = usual_memory_model(model, savers, config.train.guide > 0);
    DevicePlan plan = plan_devices(config, machine, memory, cuda_fault);
    plan.savers = savers;
    return plan;
  };
  std::vector<DevicePlan> fitting;
  for (const MemorySavers& savers : choices) {
    try {
      DevicePlan found = planned(savers);
      if (fits_by_estimate(found)) fitting.push_back(std::move(found));
    } catch (const ConfigError&) {
      continue;  // too little for these savers, or a fault that the plan without any meets again
    }
    if (fitting.empty()) continue;
    if (config.train.batch_size || fitting.back().batch_size >= kWorthwhileBatch) break;
  }
  if (fitting.empty()) return planned(choices.front());
  // Of equally large batches the first, which is the cheapest.
  auto best = std::ranges::max_element(fitting, {},
                                       [](const DevicePlan& found) { return found.batch_size; });
  add_note(*best, choices.front());
  return std::move(*best);
}

}  // namespace myxtts
