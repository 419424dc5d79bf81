// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

namespace myxtts {

inline constexpr std::int64_t kSpeechRate = 16'000;  // samples a second
inline constexpr std::int64_t kSpeechWindow = 512;   // samples that get a probability: 32 ms

// Says of every 32 ms how likely somebody speaks: the network of Silero VAD at 16,000 Hz. It
// computes on the CPU. Any thread.
//
//   window with 64 samples before it ─▶ spectrogram, 4 frames ─▶ 4 convolutions ─▶ LSTM cell ─▶ p
//
// All but the cell is computed for thousands of windows at once.
class VoiceActivity {
 public:
  // `weights` is silero_vad_16k.safetensors. Throws DataError where it is not.
  explicit VoiceActivity(const std::filesystem::path& weights);

  // With the weights that tools/setup fetched. Throws DataError where they are missing, with what
  // to type.
  static VoiceActivity with_fetched_weights();

  // Sound that comes piece by piece. The network outlives it; one thread at a time.
  class Listener {
   public:
    explicit Listener(const VoiceActivity& network);

    // Takes [S] fp32 at kSpeechRate.
    void add(const at::Tensor& sound);
    // The probabilities of all windows; the last one is filled up with silence.
    std::vector<float> finish();

   private:
    void hear(const at::Tensor& sound, std::int64_t windows);

    const VoiceActivity& network_;
    at::Tensor held_;  // the context of the next window, and what does not fill one yet
    std::vector<float> state_, cell_;
    std::vector<float> found_;
  };

 private:
  struct Convolution {
    at::Tensor weight, bias;
    std::int64_t stride;
  };

  at::Tensor features(const at::Tensor& windows) const;

  at::Tensor transform_;  // [258, 1, 256]: cosines, then sines, of the spectrogram
  std::array<Convolution, 4> convolutions_;
  at::Tensor input_weight_, gate_bias_;  // [512, 128], [512]: gates i, f, g, o
  std::vector<float> state_weight_;      // [128][512]
  std::vector<float> output_weight_;     // [128]
  float output_bias_ = 0;
};

}  // namespace myxtts
