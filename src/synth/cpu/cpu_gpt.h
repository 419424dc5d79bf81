// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "config/model.h"
#include "kernels/decode/code_decoder.h"
#include "synth/cpu/decode_threads.h"
#include "synth/cpu/vector_math.h"

namespace myxtts {

enum class Pages {
  Large,    // 2 MiB where the system has them: fewer misses when everything is read in turn
  OnDemand  // small ones, taken when they are first written
};

// Many floats, zero at first, aligned for every vector unit. Throws DeviceError when there is no
// memory for them.
class LargeBuffer {
 public:
  LargeBuffer(std::size_t count, Pages pages);
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;
  ~LargeBuffer();

  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

// The values of a tensor of the GPT, by its name without "gpt."; dense fp32.
using WeightSource = std::function<const float*(const std::string& name)>;

// The layers of the GPT for one code at a time: weights laid out for it, the cache of keys and
// values, and the threads that go through all layers together.
//
// What lies before the first step is written with write_prefix(). One thread at a time.
class CpuGpt {
 public:
  // Copies the weights. Takes up to `rows` rows of up to `positions` positions each.
  CpuGpt(const GptConfig& config, const WeightSource& weights, std::size_t rows,
         std::size_t positions, std::size_t threads);

  // keys and values [count, D] of a layer for the first positions of a row.
  void write_prefix(std::size_t row, std::size_t layer, const float* keys, const float* values,
                    std::size_t count);

  // One input of a row, and where it stands there.
  struct Input {
    std::size_t row = 0;
    std::size_t position = 0;
    const float* embedding = nullptr;  // [D]
  };
  void step(std::span<const Input> inputs);

  // The end of the network alone: the state and the logits of row i from hidden[i] [D], the output
  // of the last layer.
  void finish(std::span<const float* const> hidden);

  // Of the i-th input of the last call.
  const float* state(std::size_t i) const { return at(states_, i); }
  const float* logits(std::size_t i) const { return at(logits_, i); }

  void copy_row(std::size_t from, std::size_t to, std::size_t positions);

 private:
  struct Layer {
    NormView before_attention;
    PanelMatrix qkv;  // head after head, each [q | k | v] filled up to whole panels
    PanelMatrix attention_out;
    NormView before_mlp;
    PanelMatrix mlp_in;
    PanelMatrix mlp_out;
  };
  class Packer;

  static std::size_t packed_size(const GptConfig& config);
  static float* at(const Rows& rows, std::size_t i) { return rows.data + i * rows.stride; }
  Rows scratch(std::size_t width);
  HeadCache cache(std::size_t row, std::size_t layer, std::size_t head) const;

  void run_layers(std::size_t member, std::span<const Input> inputs);
  void attention(std::size_t member, std::size_t layer, std::span<const Input> inputs);
  void attend_head(std::size_t member, std::size_t layer, std::size_t head, std::size_t i,
                   const Input& input);
  void mlp(std::size_t member, const Layer& layer);
  void run_end(std::size_t member);
  Rows normalised(std::size_t member, const NormView& norm);
  void multiply_share(std::size_t member, const PanelMatrix& matrix, const Rows& x, const Rows& y,
                      Result result);

  const std::size_t width_;
  const std::size_t heads_;
  const std::size_t head_width_;
  const std::size_t head_stride_;  // columns of qkv for a head
  const std::size_t rows_;
  const std::size_t positions_;

  LargeBuffer weights_;
  std::vector<Layer> layers_;
  NormView last_layer_norm_;
  NormView final_norm_;
  PanelMatrix head_;

  std::size_t key_size_;    // floats of one head's keys
  std::size_t value_size_;  // and of its values
  LargeBuffer cache_;

  std::vector<std::vector<float>> scratch_;
  Rows x_;       // the running sum of the layers
  Rows qkv_;     // [rows, heads · head_stride]
  Rows mixed_;   // [rows, D]
  Rows hidden_;  // [rows, 4 · D]
  Rows states_;  // [rows, D]
  Rows logits_;  // [rows, audio ids]
  struct Member {
    Rows normalised;
    std::vector<float> scores;
    std::vector<float> mixed;
  };
  std::vector<Member> members_;

  DecodeThreads threads_;  // last: its threads use everything above
};

}  // namespace myxtts
