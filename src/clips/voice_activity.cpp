// SPDX-License-Identifier: Apache-2.0
#include "clips/voice_activity.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "audio/exact_ops.h"
#include "base/error.h"
#include "base/process.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

constexpr std::int64_t kContext = 64;   // samples of the window before
constexpr std::int64_t kMirrored = 64;  // samples behind, for the last frame of the spectrogram
constexpr std::int64_t kHop = 128;      // samples between frames
constexpr std::int64_t kBins = 129;
constexpr std::int64_t kWidth = 128;  // of the cell
constexpr std::int64_t kWindowsAtOnce = 2048;

at::Tensor tensor_of(const TensorsByName& tensors, const std::string& name, at::IntArrayRef shape,
                     const std::filesystem::path& file) {
  const auto found = tensors.find(name);
  if (found != tensors.end() && found->second.sizes() == shape &&
      found->second.scalar_type() == at::kFloat) {
    return found->second;
  }
  throw DataError(
      fmt::format("{} does not hold the weights of Silero VAD at 16,000 Hz: {} is {}. Type "
                  "tools/setup in the checkout to fetch them again.",
                  file.string(), name, found == tensors.end() ? "missing" : "of another shape"));
}

std::vector<float> values_in(const at::Tensor& tensor) {
  const auto plain = tensor.contiguous();
  const auto* first = plain.const_data_ptr<float>();
  return {first, first + plain.numel()};
}

float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

}  // namespace

VoiceActivity::VoiceActivity(const std::filesystem::path& weights) {
  const auto tensors = read_tensors(weights);
  require_finite(tensors, weights);
  const auto take = [&](const std::string& name, at::IntArrayRef shape) {
    return tensor_of(tensors, name, shape, weights);
  };
  transform_ = take("stft_conv.weight", {2 * kBins, 1, 2 * kHop});
  const auto convolution = [&](const std::string& name, std::int64_t from, std::int64_t to,
                               std::int64_t stride) {
    return Convolution{take(name + ".weight", {to, from, 3}), take(name + ".bias", {to}), stride};
  };
  convolutions_ = {convolution("conv1", kBins, 128, 1), convolution("conv2", 128, 64, 2),
                   convolution("conv3", 64, 64, 2), convolution("conv4", 64, kWidth, 1)};
  input_weight_ = take("lstm_cell.weight_ih", {4 * kWidth, kWidth});
  gate_bias_ = take("lstm_cell.bias_ih", {4 * kWidth}) + take("lstm_cell.bias_hh", {4 * kWidth});
  state_weight_ = values_in(take("lstm_cell.weight_hh", {4 * kWidth, kWidth}).t());
  output_weight_ = values_in(take("final_conv.weight", {1, kWidth, 1}));
  output_bias_ = values_in(take("final_conv.bias", {1})).front();
}

VoiceActivity VoiceActivity::with_fetched_weights() {
  const auto folder = find_data("sound", "silero-vad", "MYXTTS_SOUND_DATA");
  if (!folder) {
    throw DataError(
        "The weights that find speech in recordings (Silero VAD) are not installed. Type "
        "tools/setup in the checkout, or set MYXTTS_SOUND_DATA to the folder that holds "
        "silero-vad/.");
  }
  return VoiceActivity(*folder / "silero_vad_16k.safetensors");
}

// [N, context + window] to [N, 512]: what the gates of the cell get from each window.
at::Tensor VoiceActivity::features(const at::Tensor& windows) const {
  const auto mirrored = at::reflection_pad1d(windows, {0, kMirrored}).unsqueeze(1);
  const auto spectrum = exact_conv1d(mirrored, transform_, {}, kHop);  // [N, 258, 4]
  auto x =
      (spectrum.narrow(1, 0, kBins).square() + spectrum.narrow(1, kBins, kBins).square()).sqrt();
  for (const auto& [weight, bias, stride] : convolutions_) {
    x = exact_conv1d(x, weight, bias, stride, 1).relu();
  }
  return at::addmm(gate_bias_, x.squeeze(2), input_weight_.t());  // x [N, 128, 1]
}

VoiceActivity::Listener::Listener(const VoiceActivity& network)
    : network_(network), held_(at::zeros({kContext})), state_(kWidth), cell_(kWidth) {}

void VoiceActivity::Listener::add(const at::Tensor& sound) {
  held_ = at::cat({held_, sound});
  const auto windows = (held_.size(0) - kContext) / kSpeechWindow;
  for (std::int64_t first = 0; first < windows; first += kWindowsAtOnce) {
    hear(held_.slice(0, first * kSpeechWindow), std::min(kWindowsAtOnce, windows - first));
  }
  held_ = held_.slice(0, windows * kSpeechWindow).clone();
}

std::vector<float> VoiceActivity::Listener::finish() {
  const auto rest = held_.size(0) - kContext;
  if (rest > 0) add(at::zeros({kSpeechWindow - rest}));
  return std::move(found_);
}

// One window after another through the cell; the sums over gates are in an order that compilers
// turn into wide instructions.
void VoiceActivity::Listener::hear(const at::Tensor& sound, std::int64_t windows) {
  const at::NoGradGuard no_gradients;
  const auto gates =
      network_
          .features(sound.unfold(0, kContext + kSpeechWindow, kSpeechWindow).narrow(0, 0, windows))
          .contiguous();
  std::array<float, 4 * kWidth> sums{};
  for (std::int64_t window = 0; window < windows; ++window) {
    const auto* given = gates.const_data_ptr<float>() + window * 4 * kWidth;
    std::copy_n(given, sums.size(), sums.begin());
    for (std::size_t from = 0; from < kWidth; ++from) {
      const float* weights = network_.state_weight_.data() + from * sums.size();
      const float state = state_[from];
      for (std::size_t gate = 0; gate < sums.size(); ++gate) sums[gate] += weights[gate] * state;
    }
    float output = network_.output_bias_;
    for (std::size_t i = 0; i < kWidth; ++i) {
      cell_[i] =
          sigmoid(sums[kWidth + i]) * cell_[i] + sigmoid(sums[i]) * std::tanh(sums[2 * kWidth + i]);
      state_[i] = sigmoid(sums[3 * kWidth + i]) * std::tanh(cell_[i]);
      output += network_.output_weight_[i] * std::max(0.0F, state_[i]);
    }
    found_.push_back(sigmoid(output));
  }
}

}  // namespace myxtts
