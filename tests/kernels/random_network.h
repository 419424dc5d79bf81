// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/decode/code_decoder.h"

namespace myxtts::test {

// Weights for a CodeDecoder, lively enough that codes vary, and a prefix for each row.
class RandomNetwork {
 public:
  RandomNetwork(const CodeDecoderShape& shape, std::uint64_t seed) : shape_(shape) {
    at::manual_seed(seed);
    const std::int64_t d = shape.width;
    const double deep = 0.02 / std::sqrt(2.0 * static_cast<double>(shape.layers));
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      norm(d);
      linear(d, 3 * d, 0.06);
      linear(d, d, 4 * deep);
      norm(d);
      linear(d, 4 * d, 0.04);
      linear(4 * d, d, 4 * deep);
    }
    norm(d);
    norm(d);
    linear(shape.ids, d, 0.15);
    tensors_.back() = at::randn({shape.ids}) * 0.1;
    tensors_.push_back(at::randn({shape.ids, d}));
    tensors_.push_back(at::randn({shape.positions, d}) * 0.3);
  }

  RandomNetwork on(c10::Device device) const {
    RandomNetwork copy = *this;
    for (auto& tensor : copy.tensors_) tensor = tensor.to(device);
    return copy;
  }

  CodeDecoderWeights view() const {
    std::size_t next = 0;
    const auto take = [&] { return tensors_.at(next++).const_data_ptr<float>(); };
    const auto pair = [&]<typename View>(View view) {
      const float* first = take();
      view = {first, take()};
      return view;
    };
    CodeDecoderWeights weights;
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      LayerView layer;
      layer.before_attention = pair(NormView{});
      layer.qkv = pair(LinearView{});
      layer.attention_out = pair(LinearView{});
      layer.before_mlp = pair(NormView{});
      layer.mlp_in = pair(LinearView{});
      layer.mlp_out = pair(LinearView{});
      weights.layers.push_back(layer);
    }
    weights.last_norm = pair(NormView{});
    weights.final_norm = pair(NormView{});
    weights.head = pair(LinearView{});
    weights.embedding = take();
    weights.positions = take();
    return weights;
  }

  const CodeDecoderShape& shape() const { return shape_; }

  // Random keys and values for every layer of a row.
  void load_prefix(CodeDecoder& decoder, std::int64_t row, std::int64_t length,
                   c10::Device device) const {
    std::vector<at::Tensor> kept;
    auto random = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(row + 77));
    for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
      const auto both = at::randn({2, length, shape_.width}, random).to(device);
      kept.push_back(both);
      if (device.is_cuda()) (void)both.sum().item<float>();  // waits for the copy
      decoder.load_prefix(row, layer, both[0].const_data_ptr<float>(),
                          both[1].const_data_ptr<float>(), length);
    }
    decoder.wait();
  }

 private:
  void norm(std::int64_t width) {
    tensors_.push_back(at::rand({width}) + 0.5);
    tensors_.push_back(at::randn({width}) * 0.1);
  }
  void linear(std::int64_t in, std::int64_t out, double scale) {
    tensors_.push_back(at::randn({in, out}) * scale);
    tensors_.push_back(at::randn({out}) * 0.05);
  }

  CodeDecoderShape shape_;
  std::vector<at::Tensor> tensors_;
};

}  // namespace myxtts::test
