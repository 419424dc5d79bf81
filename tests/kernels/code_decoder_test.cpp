// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/code_decoder.h"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "random_network.h"
#include "reference_decoder.h"

// The reference decoder against whole-sequence attention by LibTorch.

namespace myxtts::test::code_decoder_test {
namespace {

CodeDecoderShape shape_of(std::int64_t rows) {
  return {.layers = 2,
          .width = 32,
          .heads = 4,
          .ids = 42,
          .positions = 24,
          .start = 40,
          .stop = 41,
          .rows = rows,
          .capacity = 64,
          .most_codes = 20};
}

at::Tensor view(const float* data, std::vector<std::int64_t> shape) {
  return at::from_blob(const_cast<float*>(data), shape, at::kFloat);
}

at::Tensor norm(const at::Tensor& x, const NormView& n) {
  const auto d = x.size(-1);
  return at::layer_norm(x, {d}, view(n.scale, {d}), view(n.shift, {d}));
}

at::Tensor linear(const at::Tensor& x, const LinearView& l, std::int64_t out) {
  return at::matmul(x, view(l.weight, {x.size(-1), out})) + view(l.bias, {out});
}

// States of all ids at once, behind random keys: [n, D].
at::Tensor states_of(const RandomNetwork& network, const std::vector<std::int64_t>& ids,
                     std::int64_t row, std::int64_t prefix) {
  const auto& shape = network.shape();
  const auto d = shape.width;
  const auto n = static_cast<std::int64_t>(ids.size());
  const auto weights = network.view();
  auto x = at::embedding(view(weights.embedding, {shape.ids, d}), at::tensor(ids)) +
           view(weights.positions, {n, d});
  auto random = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(row + 77));
  for (const auto& layer : weights.layers) {
    const auto past = at::randn({2, prefix, d}, random);
    const auto qkv = linear(norm(x, layer.before_attention), layer.qkv, 3 * d).chunk(3, 1);
    const auto heads = [&](const at::Tensor& t) {
      return t.view({-1, shape.heads, shape.head_width()}).transpose(0, 1);
    };
    const auto keys = heads(at::cat({past[0], qkv[1]}));
    const auto values = heads(at::cat({past[1], qkv[2]}));
    const auto visible = at::ones({n, prefix + n}, at::kBool).tril(prefix);
    const auto mixed = at::scaled_dot_product_attention(heads(qkv[0]), keys, values, visible);
    x = x + linear(mixed.transpose(0, 1).reshape({n, d}), layer.attention_out, d);
    const auto hidden = at::gelu(linear(norm(x, layer.before_mlp), layer.mlp_in, 4 * d), "tanh");
    x = x + linear(hidden, layer.mlp_out, d);
  }
  return norm(norm(x, weights.last_norm), weights.final_norm);
}

TEST(CodeDecoder, LatentsAndLogitsAreThoseOfTheWholeSequence) {
  const RandomNetwork network(shape_of(2), 1);
  const auto decoder = make_reference_decoder(network.shape(), network.view());
  const std::vector<std::int64_t> prefixes = {7, 12};
  for (std::int64_t row = 0; row < 2; ++row) {
    network.load_prefix(*decoder, row, prefixes[static_cast<std::size_t>(row)], c10::kCPU);
    decoder->start(row, prefixes[static_cast<std::size_t>(row)], {.greedy = true});
  }
  decoder->advance(20);
  for (std::int64_t row = 0; row < 2; ++row) {
    const auto count = decoder->progress(row).codes;
    ASSERT_GT(count, 1);
    std::vector<std::int64_t> ids = {network.shape().start};
    for (int i = 0; i + 1 < count; ++i) ids.push_back(decoder->codes(row)[i]);
    const auto wanted = states_of(network, ids, row, prefixes[static_cast<std::size_t>(row)]);
    const auto found = view(decoder->latents(row), {count, network.shape().width});
    EXPECT_LE(((found - wanted).norm() / wanted.norm()).item<double>(), 1e-5);
    const auto head = network.view().head;
    const auto logits =
        at::matmul(view(head.weight, {42, 32}), wanted[count - 1]) + view(head.bias, {42});
    EXPECT_LE(((view(decoder->logits(row), {42}) - logits).norm() / logits.norm()).item<double>(),
              1e-5);
  }
}

TEST(CodeDecoder, ARowEndsAtTheStopOrAtTheLimit) {
  CodeDecoderShape shape = shape_of(1);
  const RandomNetwork network(shape, 2);
  std::vector<std::int32_t> codes;
  for (const bool stops : {false, true}) {
    shape.stop = stops ? codes[3] : -1;
    const auto decoder = make_reference_decoder(shape, network.view());
    network.load_prefix(*decoder, 0, 5, c10::kCPU);
    decoder->start(0, 5, {.greedy = true});
    decoder->advance(50);
    EXPECT_TRUE(decoder->progress(0).finished);
    codes.assign(decoder->codes(0), decoder->codes(0) + decoder->progress(0).codes);
    if (!stops) {
      EXPECT_EQ(codes.size(), 20U);
    }
  }
  ASSERT_LE(codes.size(), 4U);
  EXPECT_EQ(codes.back(), shape.stop);
}

TEST(CodeDecoder, AFedRowTakesTheCodesItIsGiven) {
  const RandomNetwork network(shape_of(1), 3);
  const auto chosen = make_reference_decoder(network.shape(), network.view());
  const auto fed = make_reference_decoder(network.shape(), network.view());
  for (CodeDecoder* decoder : {chosen.get(), fed.get()}) {
    network.load_prefix(*decoder, 0, 9, c10::kCPU);
  }
  chosen->start(0, 9, {.greedy = true});
  fed->start(0, 9, {.by_caller = true});
  chosen->advance(5);
  for (int i = 0; i < 5; ++i) {
    fed->advance(1);
    if (i < 4) fed->feed(0, chosen->codes(0)[i]);
  }
  EXPECT_TRUE(at::equal(view(fed->logits(0), {42}), view(chosen->logits(0), {42})));
}

}  // namespace
}  // namespace myxtts::test::code_decoder_test
