// SPDX-License-Identifier: Apache-2.0
#include "train/speaker/speaker_training.h"

#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include <ATen/ATen.h>

#include "base/error.h"
#include "data/batches/sound_window.h"
#include "data/corpus.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "model/tensor_spec.h"
#include "run/open_model.h"
#include "train/step/window_training.h"

namespace myxtts {
namespace {

const std::string kHead = "speaker_head.weight";  // [speakers, dim]; no tensor of the model

// What batch normalisation keeps of the batches it saw: means, variances, and how many there were.
// Passes write into a draft, which counts once their step does.
class RunningStatistics {
 public:
  // `tensors` are the network's, by the names of `specs` behind `prefix`; means and variances are
  // shared. The counters come from `weights` and are copied to the device of the others.
  RunningStatistics(const TensorSpecs& specs, const std::string& prefix,
                    const NamedTensors& tensors, const NamedTensors& weights);

  // `tensors` with the draft's means and variances in their places: for the network in training.
  NamedTensors with_draft(NamedTensors tensors) const;

  void count_pass() { passes_.add_(1); }

  // The draft counts, unless `skipped`, int32 [1], is not 0. Then the next draft begins.
  void update(const at::Tensor& skipped);
  void clear();

  // By the names of the public checkpoint, int64, sharing memory.
  NamedTensors counters() const;

 private:
  NamedTensors kept_;
  NamedTensors drafts_;  // by the same names
  std::vector<std::string> counter_names_;
  at::Tensor counts_;  // [counters] int64
  at::Tensor passes_;  // [1] int64: of the draft
};

RunningStatistics::RunningStatistics(const TensorSpecs& specs, const std::string& prefix,
                                     const NamedTensors& tensors, const NamedTensors& weights) {
  std::vector<at::Tensor> counts;
  for (const auto& spec : specs) {
    const std::string name = prefix + spec.name;
    if (spec.role == TensorRole::Counter) {
      counter_names_.push_back(name);
      counts.push_back(find_tensor(weights, name, spec.shape).to(at::kCPU, at::kLong));
    } else if (name.ends_with(".running_mean") || name.ends_with(".running_var")) {
      kept_.emplace(name, tensors.at(name));
      drafts_.emplace(name, tensors.at(name).clone());
    }
  }
  const auto device = kept_.begin()->second.device();
  counts_ = at::stack(counts).to(device);
  passes_ = at::zeros({1}, counts_.options());
}

NamedTensors RunningStatistics::with_draft(NamedTensors tensors) const {
  for (const auto& [name, draft] : drafts_) tensors.at(name) = draft;
  return tensors;
}

void RunningStatistics::update(const at::Tensor& skipped) {
  const at::NoGradGuard no_grad;
  const auto good = skipped.eq(0);
  for (const auto& [name, kept] : kept_) kept.copy_(at::where(good, drafts_.at(name), kept));
  counts_.add_(passes_ * good);
  clear();
}

void RunningStatistics::clear() {
  for (const auto& [name, draft] : drafts_) draft.copy_(kept_.at(name));
  passes_.zero_();
}

NamedTensors RunningStatistics::counters() const {
  NamedTensors named;
  for (std::size_t i = 0; i < counter_names_.size(); ++i) {
    named.emplace(counter_names_[i], counts_.select(0, static_cast<std::int64_t>(i)));
  }
  return named;
}

constexpr double kLeastLength = 1e-12;
constexpr double kLeastSquare = 1e-6;  // of a sine, whose root has no gradient at 0

at::Tensor of_length_one(const at::Tensor& rows) {
  return rows / rows.norm(2, 1, /*keepdim=*/true).clamp_min(kLeastLength);
}

// Cosines of vectors [W, dim] with the directions [speakers, dim] of the speakers: [W, speakers].
at::Tensor speaker_cosines(const at::Tensor& vectors, const at::Tensor& directions) {
  return at::matmul(of_length_one(vectors), of_length_one(directions).t());
}

// What the softmax takes: the cosines, scaled, with the angle to the right one of `speakers` [W]
// widened by the margin. Beyond half a turn, where a wider angle would count as a smaller one, the
// cosine itself is lowered.
at::Tensor speaker_logits(const at::Tensor& cosines, const at::Tensor& speakers, double margin,
                          double scale) {
  const auto sines = (1 - cosines.square()).clamp_min(kLeastSquare).sqrt();
  const auto wider = cosines * std::cos(margin) - sines * std::sin(margin);
  const double last = std::cos(std::numbers::pi - margin);
  const auto right = at::where(cosines > last, wider, cosines - margin * std::sin(margin));
  const auto all = at::arange(cosines.size(1), speakers.options());
  return at::where(speakers.unsqueeze(1).eq(all), right, cosines) * scale;
}

// The cosine of each window [W, dim] with the mean direction of the other windows of its speaker:
// fp32 [W]; and 1 or 0 where there are such windows or not.
std::array<at::Tensor, 2> mates_cosines(const at::Tensor& vectors, const at::Tensor& speakers,
                                        const at::Tensor& weights) {
  const auto units = of_length_one(vectors);
  const auto others = 1 - at::eye(vectors.size(0), weights.options());
  const auto same = speakers.unsqueeze(1).eq(speakers.unsqueeze(0)).to(at::kFloat);
  const auto mates = same * others * weights.unsqueeze(0);  // [W, W]
  const auto cosines = (units * of_length_one(at::matmul(mates, units))).sum(1);
  return {cosines, mates.sum(1).gt(0).to(at::kFloat)};
}

// The cosines of each window with those of other speakers: fp32 [W, W], -1 in the places of others.
at::Tensor cosines_of_others(const at::Tensor& vectors, const at::Tensor& speakers,
                             const at::Tensor& weights) {
  const auto units = of_length_one(vectors);
  const auto is_other =
      speakers.unsqueeze(1).ne(speakers.unsqueeze(0)).logical_and(weights.gt(0).unsqueeze(0));
  return at::matmul(units, units.t()).masked_fill(is_other.logical_not(), -1);
}

// The mean cosine of two different windows of one speaker, less that of windows of two speakers:
// fp32 scalar; windows of weight 0 do not count. 0 where there are no two such windows.
at::Tensor cosine_gap(const at::Tensor& vectors, const at::Tensor& speakers,
                      const at::Tensor& weights) {
  const auto cosines = speaker_cosines(vectors, vectors);  // [W, W]
  const auto others = 1 - at::eye(vectors.size(0), weights.options());
  const auto pairs = weights.unsqueeze(1) * weights.unsqueeze(0) * others;
  const auto same = speakers.unsqueeze(1).eq(speakers.unsqueeze(0)).to(at::kFloat);
  const auto mean = [&](const at::Tensor& mask) {
    return (cosines * mask).sum() / mask.sum().clamp_min(1);
  };
  const auto both = (same * pairs).sum().gt(0) & ((1 - same) * pairs).sum().gt(0);
  return (mean(same * pairs) - mean((1 - same) * pairs)) * both;
}

const SpeakerTrainingSettings& with_speakers(const SpeakerTrainingSettings& settings) {
  if (settings.speakers >= 2) return settings;
  throw ConfigError(kOneSpeaker);
}

TensorSpec head_spec(const SpeakerEncoderConfig& config, const SpeakerTrainingSettings& settings) {
  return {.name = kHead,
          .shape = {settings.speakers, config.output_dim},
          .init = Init::Normal,
          .scale = 1.0};
}

// The head cannot be frozen.
ParameterLayout layout_of(const SpeakerEncoderConfig& config,
                          const SpeakerTrainingSettings& settings) {
  TensorSpecs specs = speaker_encoder_specs(config);
  const auto frozen = frozen_parameters(specs, kSpeakerEncoderPrefix, settings.step.freeze);
  for (auto& spec : specs) spec.name = kSpeakerEncoderPrefix + spec.name;
  specs.push_back(head_spec(config, settings));
  return lay_out(specs, "", frozen);
}

NamedTensors with_head(NamedTensors weights, const SpeakerEncoderConfig& config,
                       const SpeakerTrainingSettings& settings) {
  weights.merge(initialise({head_spec(config, settings)}, settings.step.seed));
  return weights;
}

SoundWindows windows_of(const SpeakerTrainingSettings& settings) {
  SoundWindows windows;
  windows.weights = at::zeros({settings.windows}, at::kFloat);
  windows.sound = at::zeros({settings.windows, settings.samples}, at::kFloat);
  windows.speakers = at::zeros({settings.windows}, at::kLong);
  return windows;
}

// The windows of weight 1 over and over in the places of those of weight 0, which are silence and
// would count in a batch's statistics.
at::Tensor without_silence(const SoundWindows& windows) {
  const auto places = at::arange(windows.weights.size(0), windows.speakers.options());
  const auto count = windows.weights.sum().clamp_min(1).to(at::kLong);
  return windows.sound.index_select(0, at::remainder(places, count));
}

class SpeakerTraining final : public WindowTraining {
 public:
  SpeakerTraining(RoleDevice& device, const SpeakerEncoderConfig& config,
                  const NamedTensors& weights, const SpeakerTrainingSettings& settings)
      : WindowTraining(device, with_speakers(settings).step,
                       {"speaker_loss", "accuracy", "cosine_gap"}, layout_of(config, settings),
                       with_head(weights, config, settings)),
        config_(config),
        settings_(settings),
        statistics_(speaker_encoder_specs(config), kSpeakerEncoderPrefix, parameters().tensors(),
                    weights),
        encoder_(config, statistics_.with_draft(parameters().tensors()), kSpeakerEncoderPrefix,
                 SpeakerEncoder::Mode::Training) {
    record_graphs(windows_of(settings));
  }

  double total(std::span<const double> losses) const override { return losses[0]; }

  NamedTensors weights() const override {
    NamedTensors all = parameters().named_weights();
    all.erase(kHead);
    all.merge(statistics_.counters());
    return all;
  }

  NamedTensors optimiser() const override {
    NamedTensors all = WindowTraining::optimiser();
    all.emplace(kHead, parameters().named_weights().at(kHead));
    return all;
  }

 private:
  // Of each window [W] its loss, and 1 or 0 where its nearest direction is right or not; and the
  // cosine gap of the batch. All speakers are trained on.
  std::array<at::Tensor, 3> measured(const at::Tensor& vectors, const SoundWindows& windows,
                                     double margin) const {
    const auto cosines = speaker_cosines(vectors, parameters().tensors().at(kHead));
    const auto logits = speaker_logits(cosines, windows.speakers, margin, settings_.scale);
    return {at::cross_entropy_loss(logits, windows.speakers, {}, at::Reduction::None),
            cosines.detach().argmax(1).eq(windows.speakers).to(at::kFloat),
            cosine_gap(vectors.detach(), windows.speakers, windows.weights)};
  }

  Losses losses(const SoundWindows& windows) override {
    const auto vectors = encoder_.unscaled(without_silence(windows));
    statistics_.count_pass();
    poll();
    const auto [each, right, gap] = measured(vectors, windows, settings_.margin);
    const auto shares = windows.weights / windows.weights.sum().clamp_min(1);
    const auto loss = each.dot(shares);
    return {.trained = loss, .reported = at::stack({loss.detach(), right.dot(shares), gap})};
  }

  // With stored statistics, as the encoder is used. A stranger, whose number is below 0, has no
  // direction: that of the other windows of the same voice takes its place, beside those of all
  // speakers that were trained on and the windows of other voices, as an encoder that hears no
  // difference must not look good.
  at::Tensor measure_windows(const SoundWindows& windows) const override {
    const SpeakerEncoder frozen(config_, parameters().tensors());
    const auto vectors = frozen.unscaled(windows.sound);
    const auto known = windows.speakers.ge(0);
    SoundWindows trained = windows;
    trained.speakers = windows.speakers.clamp_min(0);
    const auto [known_loss, known_right, unused] = measured(vectors, trained, /*margin=*/0);
    const auto cosines = at::cat({speaker_cosines(vectors, parameters().tensors().at(kHead)),
                                  cosines_of_others(vectors, windows.speakers, windows.weights)},
                                 1);
    const auto [own, has_mates] = mates_cosines(vectors, windows.speakers, windows.weights);
    const auto logits = at::cat({own.unsqueeze(1), cosines}, 1) * settings_.scale;
    const auto losses = at::where(known, known_loss, -at::log_softmax(logits, 1).select(1, 0));
    const auto right = at::where(known, known_right, own.gt(cosines.amax(1)).to(at::kFloat));
    const auto weights = at::where(known, windows.weights, windows.weights * has_mates);
    const auto seen = weights.sum();
    const auto gap = cosine_gap(vectors, windows.speakers, weights);
    const auto sums = at::stack({losses.dot(weights), right.dot(weights), gap * seen});
    return at::stack({sums, seen.expand_as(sums)});
  }

  void update_buffers(const at::Tensor& skipped) override { statistics_.update(skipped); }
  void clear_buffers() override { statistics_.clear(); }

  void load(const NamedTensors& weights, const NamedTensors& optimiser) override {
    NamedTensors all = weights;
    all.insert_or_assign(kHead,
                         find_tensor(optimiser, kHead, {settings_.speakers, config_.output_dim}));
    WindowTraining::load(all, optimiser);
    for (auto& [name, counter] : statistics_.counters()) {
      counter.copy_(find_tensor(weights, name, counter.sizes()));
    }
  }

  const SpeakerEncoderConfig config_;
  const SpeakerTrainingSettings settings_;
  RunningStatistics statistics_;
  SpeakerEncoder encoder_;
};

}  // namespace

std::unique_ptr<PartTraining> make_speaker_training(const SpeakerEncoderConfig& config,
                                                    const NamedTensors& weights, RoleDevice& device,
                                                    const SpeakerTrainingSettings& settings) {
  return make_on<SpeakerTraining>(device, config, weights, settings);
}

std::unique_ptr<PartTraining> make_speaker_training(const TrainingInputs& inputs) {
  return make_speaker_training(inputs.model.config.speaker_encoder, inputs.model.model,
                               inputs.device,
                               {.step = finer_step_settings(inputs),
                                .speakers = inputs.speakers,
                                .windows = inputs.windows.count(),
                                .samples = inputs.windows.samples()});
}

}  // namespace myxtts
