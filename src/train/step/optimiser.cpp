// SPDX-License-Identifier: Apache-2.0
#include "train/step/optimiser.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/error.h"
#include "kernels/adamw/adamw.h"

namespace myxtts {
namespace {

NumberFormat format_of(at::ScalarType type) {
  if (type == at::kFloat) return NumberFormat::Fp32;
  return type == at::kBFloat16 ? NumberFormat::Bf16 : NumberFormat::Fp16;
}

at::ScalarType type_of(Moments moments) {
  if (moments == Moments::Fp32) return at::kFloat;
  return moments == Moments::Bf16 ? at::kBFloat16 : at::kByte;
}

void* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr() : nullptr;
}

float* floats(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}

ParameterPlace scales_of(const ParameterPlace& place) {
  const std::int64_t blocks = (place.count + kAdamWBlock - 1) / kAdamWBlock;
  return {.name = place.name,
          .shape = {blocks},
          .first = place.first / kAdamWBlock,
          .count = blocks,
          .trained = true};
}

// As if the array, of which only what begins at `first` is there, were whole.
template <typename Pointer>
Pointer from_the_start(Pointer part, std::int64_t bytes_before) {
  if (part == nullptr) return nullptr;
  return reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(part) -
                                   static_cast<std::uintptr_t>(bytes_before));
}

}  // namespace

// Both averages of so many parameters in one format.
struct Optimiser::MomentTensors {
  MomentTensors(std::int64_t count, Moments moments, c10::Device device) {
    const auto options = at::TensorOptions(device);
    means = at::zeros({count}, options.dtype(type_of(moments)));
    squares = at::zeros_like(means);
    if (moments != Moments::EightBit) return;
    mean_scales = at::zeros({count / kAdamWBlock}, options.dtype(at::kFloat));
    square_scales = at::zeros_like(mean_scales);
  }

  // The arrays that there are, and how many parameters' numbers each of theirs is for.
  std::vector<std::pair<at::Tensor, std::int64_t>> arrays() const {
    std::vector<std::pair<at::Tensor, std::int64_t>> all{{means, 1}, {squares, 1}};
    if (mean_scales.defined()) {
      all.emplace_back(mean_scales, kAdamWBlock);
      all.emplace_back(square_scales, kAdamWBlock);
    }
    return all;
  }

  // `part` of the arrays of `whole`, or these as that part of it.
  void copy_part(const MomentTensors& whole, const ArrayPart& part, bool from_whole) const {
    const auto parts = arrays();
    const auto wholes = whole.arrays();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t unit = parts[i].second;
      const auto there = wholes[i].first.narrow(0, part.first / unit, part.count / unit);
      from_whole ? parts[i].first.copy_(there) : there.copy_(parts[i].first);
    }
  }

  at::Tensor means;        // [count]
  at::Tensor squares;      // [count]
  at::Tensor mean_scales;  // of eight bits: fp32 [count / kAdamWBlock]; else undefined
  at::Tensor square_scales;
};

Optimiser::Optimiser(Parameters& parameters, const OptimiserSettings& settings, RoleDevice& device)
    : parameters_(parameters), device_(device), moments_(settings.moments), part_(settings.part) {
  MYXTTS_CHECK(settings.losses <= kMostLosses, "{} losses in a step", settings.losses);
  const AdamWRule& rule = settings.rule;
  adamw_ = device.gpu() < 0 ? make_cpu_adamw(rule) : make_cuda_adamw(rule);

  const auto on = parameters.weights().device();
  const std::int64_t count = parameters.layout().trained;
  const auto fp32 = at::TensorOptions(on).dtype(at::kFloat);
  averages_ = std::make_unique<MomentTensors>(part_ ? part_->count : count, moments_, on);
  partial_sums_ = at::zeros({count / kAdamWAlignment}, fp32);
  if (settings.batches_a_step > 1 && parameters.copy().defined()) sums_ = at::zeros({count}, fp32);

  UpdateState start;
  if (rule.scaled_loss) start.loss_scale = kFirstLossScale;
  state_ = at::empty({sizeof start}, at::TensorOptions(on).dtype(at::kByte));
  state_.copy_(at::from_blob(&start, {sizeof start}, at::kByte));
  static_assert(offsetof(UpdateState, losses) == offsetof(UpdateState, loss) + sizeof(float));
  losses_ = field(offsetof(UpdateState, loss), 1 + settings.losses, at::kFloat);
  if (rule.scaled_loss) {
    loss_scale_ = field(offsetof(UpdateState, loss_scale), 1, at::kFloat).squeeze();
  }
}

Optimiser::~Optimiser() = default;

UpdateState* Optimiser::state() const {
  return static_cast<UpdateState*>(state_.mutable_data_ptr());
}

const UpdateReport* Optimiser::report() const {
  return &state()->report;
}

at::Tensor Optimiser::skipped() const {
  return field(offsetof(UpdateState, skip), 1, at::kInt);
}

// A partial sum is of one parameter: see kAdamWAlignment.
std::vector<std::string> Optimiser::overflowed() const {
  const auto finite = at::isfinite(partial_sums_).cpu();
  const std::span<const bool> sums(finite.const_data_ptr<bool>(),
                                   static_cast<std::size_t>(finite.numel()));
  std::vector<std::string> names;
  for (const auto& place : parameters_.layout().places) {
    if (!place.trained) continue;
    const auto first = static_cast<std::size_t>(place.first / kAdamWAlignment);
    const auto parts =
        static_cast<std::size_t>((place.count + kAdamWAlignment - 1) / kAdamWAlignment);
    if (!std::ranges::all_of(sums.subspan(first, parts), std::identity{})) {
      names.push_back(place.name);
    }
  }
  return names;
}

at::Tensor Optimiser::field(std::size_t offset, std::int64_t count, at::ScalarType type) const {
  const auto bytes = count * static_cast<std::int64_t>(at::elementSize(type));
  return state_.narrow(0, static_cast<std::int64_t>(offset), bytes).view(type);
}

AdamWArrays Optimiser::arrays() const {
  const auto& copy = parameters_.copy();
  const auto& gradients = parameters_.gradients();
  const ArrayPart part = part_.value_or(ArrayPart{});
  const auto moment = [&](const at::Tensor& numbers, const at::Tensor& scales) {
    const auto size = static_cast<std::int64_t>(numbers.element_size());
    const std::int64_t scales_before = part.first / kAdamWBlock;
    return MomentArray{
        .numbers = from_the_start(pointer(numbers), part.first * size),
        .scales = from_the_start(floats(scales),
                                 scales_before * static_cast<std::int64_t>(sizeof(float)))};
  };
  AdamWArrays arrays{
      .count = parameters_.layout().trained,
      .decayed = parameters_.layout().decayed,
      .weights = floats(parameters_.weights()),
      .copy = pointer(copy),
      .copy_format = copy.defined() ? format_of(copy.scalar_type()) : NumberFormat::Fp32,
      .gradients = pointer(gradients),
      .gradient_format = copy.defined() ? format_of(copy.scalar_type()) : NumberFormat::Fp32,
      .means = moment(averages_->means, averages_->mean_scales),
      .squares = moment(averages_->squares, averages_->square_scales),
      .moments = moments_,
      .partial_sums = floats(partial_sums_)};
  if (part_) {
    arrays.own_first = part_->first;
    arrays.own_count = part_->count;
  }
  return arrays;
}

void Optimiser::add_up() {
  if (sums_.defined()) adamw_->add_up(device_.stream(), arrays(), floats(sums_));
}

void Optimiser::clear() {
  losses_.zero_();
  if (parameters_.gradients().defined()) parameters_.gradients().zero_();
  if (sums_.defined()) sums_.zero_();
}

void Optimiser::update(std::int64_t step, double learning_rate) {
  AdamWArrays all = arrays();
  if (sums_.defined()) {
    all.gradients = pointer(sums_);
    all.gradient_format = NumberFormat::Fp32;
  }
  prepare(step, learning_rate);
  adamw_->update(device_.stream(), all, state());
}

void Optimiser::prepare(std::int64_t step, double learning_rate) {
  adamw_->prepare(device_.stream(), state(), step, learning_rate);
}

void Optimiser::begin() {
  adamw_->begin(device_.stream(), state());
}

void Optimiser::apply(const ParameterPlace& place, const at::Tensor& gradient) {
  adamw_->apply_part(
      device_.stream(), arrays(),
      {.first = place.first, .count = place.count, .gradients = gradient.const_data_ptr()},
      state());
}

void Optimiser::finish() {
  adamw_->finish(device_.stream(), arrays(), state());
}

NamedTensors Optimiser::tensors() const {
  MYXTTS_CHECK(!part_, "averages of one part are not those of a checkpoint");
  return named(*averages_);
}

NamedTensors Optimiser::tensors(const FillIn& fill_in) const {
  if (!part_) return named(*averages_);
  const MomentTensors whole(parameters_.layout().trained, moments_, averages_->means.device());
  averages_->copy_part(whole, *part_, /*from_whole=*/false);
  for (const auto& [flat, unit] : whole.arrays()) fill_in(flat, unit);
  return named(whole);
}

NamedTensors Optimiser::named(const MomentTensors& moments) const {
  NamedTensors named;
  named.emplace("applied", field(offsetof(UpdateState, applied), 1, at::kLong));
  named.emplace("good_steps", field(offsetof(UpdateState, good_steps), 1, at::kLong));
  named.emplace("loss_scale", field(offsetof(UpdateState, loss_scale), 1, at::kFloat));
  for (const auto& place : parameters_.layout().places) {
    if (!place.trained) continue;
    named.emplace("mean." + place.name, part_of(moments.means, place));
    named.emplace("square." + place.name, part_of(moments.squares, place));
    if (!moments.mean_scales.defined()) continue;
    named.emplace("mean_scale." + place.name, part_of(moments.mean_scales, scales_of(place)));
    named.emplace("square_scale." + place.name, part_of(moments.square_scales, scales_of(place)));
  }
  return named;
}

void Optimiser::load(const NamedTensors& tensors) {
  const at::NoGradGuard no_grad;
  field(offsetof(UpdateState, applied), 1, at::kLong).copy_(find_tensor(tensors, "applied", {1}));
  field(offsetof(UpdateState, good_steps), 1, at::kLong)
      .copy_(find_tensor(tensors, "good_steps", {1}));
  load_loss_scale(find_tensor(tensors, "loss_scale", {1}));
  clear();
  const auto any = std::ranges::find_if(
      tensors, [](const auto& named) { return named.first.starts_with("mean."); });
  if (any == tensors.end()) throw DataError("The optimiser's tensors hold no averages.");
  const auto type = any->second.scalar_type();
  if (type == type_of(moments_) && !part_) {
    load_moments(tensors);
  } else {
    load_part(tensors, type == at::kFloat      ? Moments::Fp32
                       : type == at::kBFloat16 ? Moments::Bf16
                                               : Moments::EightBit);
  }
}

// Only fp16 has one. Of a checkpoint that was trained in another precision it is 1.
void Optimiser::load_loss_scale(const at::Tensor& saved) {
  auto scale = field(offsetof(UpdateState, loss_scale), 1, at::kFloat);
  if (loss_scale_.defined()) {
    scale.copy_(at::where(saved == 1, at::full_like(saved, kFirstLossScale), saved));
  } else {
    scale.fill_(1);
  }
}

void Optimiser::load_moments(const NamedTensors& tensors) {
  for (auto& [name, tensor] : this->tensors()) {
    if (!name.starts_with("mean") && !name.starts_with("square")) continue;
    tensor.copy_(find_tensor(tensors, name, tensor.sizes()));
  }
}

// By way of whole arrays on the CPU, converted block by block where they are of another format.
void Optimiser::load_part(const NamedTensors& tensors, Moments from) {
  const std::int64_t count = parameters_.layout().trained;
  const MomentTensors old(count, from, c10::kCPU);
  const MomentTensors converted(count, moments_, c10::kCPU);
  for (const auto& place : parameters_.layout().places) {
    if (!place.trained) continue;
    const auto copy = [&](const char* kind, const at::Tensor& flat, const ParameterPlace& part) {
      part_of(flat, part).copy_(find_tensor(tensors, kind + place.name, part.shape));
    };
    copy("mean.", old.means, place);
    copy("square.", old.squares, place);
    if (from != Moments::EightBit) continue;
    copy("mean_scale.", old.mean_scales, scales_of(place));
    copy("square_scale.", old.square_scales, scales_of(place));
  }
  const auto arrays_of = [](const MomentTensors& moments, Moments kind) {
    return AdamWArrays{
        .means = {.numbers = pointer(moments.means), .scales = floats(moments.mean_scales)},
        .squares = {.numbers = pointer(moments.squares), .scales = floats(moments.square_scales)},
        .moments = kind};
  };
  adamw::Block means;
  adamw::Block squares;
  for (std::int64_t first = 0; first < count && from != moments_; first += kAdamWBlock) {
    adamw::load_moments(arrays_of(old, from), first, means, squares);
    adamw::store_moments(arrays_of(converted, moments_), first, /*key=*/0, means, squares);
  }
  averages_->copy_part(from == moments_ ? old : converted,
                       part_.value_or(ArrayPart{.first = 0, .count = count}),
                       /*from_whole=*/true);
}

namespace {

class UpdateAndRelease final : public torch::autograd::PostAccumulateGradHook {
 public:
  UpdateAndRelease(const ParameterPlace& place, Optimiser& optimiser)
      : place_(place), optimiser_(optimiser) {}

  void operator()(const at::Tensor& parameter) override {
    optimiser_.apply(place_, parameter.grad());
    parameter.mutable_grad().reset();
  }

 private:
  const ParameterPlace place_;
  Optimiser& optimiser_;
};

}  // namespace

void release_gradients(Parameters& parameters, Optimiser& optimiser) {
  for (const auto& place : parameters.layout().places) {
    if (!place.trained) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters.tensors().find(place.name)->second,
        std::make_unique<UpdateAndRelease>(place, optimiser));
  }
}

}  // namespace myxtts
