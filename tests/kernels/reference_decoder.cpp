// SPDX-License-Identifier: Apache-2.0
#include "reference_decoder.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"

namespace myxtts::test {
namespace {

constexpr float kNormEpsilon = 1e-5F;
using Row = std::vector<float>;

struct Norm {
  Norm(const NormView& view, std::size_t width)
      : scale(view.scale, view.scale + width), shift(view.shift, view.shift + width) {}

  Row operator()(const Row& x) const {
    const auto width = static_cast<double>(x.size());
    double mean = 0;
    for (const float value : x) mean += value / width;
    double variance = 0;
    for (const float value : x) variance += (value - mean) * (value - mean) / width;
    const double factor = 1 / std::sqrt(variance + kNormEpsilon);
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = static_cast<float>((x[i] - mean) * factor) * scale[i] + shift[i];
    }
    return y;
  }

  Row scale;
  Row shift;
};

// As the checkpoint's layers hold it: [in, out].
struct Linear {
  Linear(const LinearView& view, std::size_t in, std::size_t out)
      : weight(view.weight, view.weight + in * out), bias(view.bias, view.bias + out) {}

  Row operator()(const Row& x) const {
    Row y = bias;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float* row = weight.data() + i * y.size();
      for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * row[j];
    }
    return y;
  }

  Row weight;
  Row bias;
};

Row added(Row a, const Row& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

float gelu_tanh(float x) {
  const float slope = std::sqrt(2.0F / std::numbers::pi_v<float>);
  return 0.5F * x * (1 + std::tanh(slope * (x + 0.044715F * x * x * x)));
}

struct Layer {
  Layer(const LayerView& view, std::size_t width)
      : before_attention(view.before_attention, width),
        qkv(view.qkv, width, 3 * width),
        attention_out(view.attention_out, width, width),
        before_mlp(view.before_mlp, width),
        mlp_in(view.mlp_in, width, 4 * width),
        mlp_out(view.mlp_out, 4 * width, width) {}

  Norm before_attention;
  Linear qkv;
  Linear attention_out;
  Norm before_mlp;
  Linear mlp_in;
  Linear mlp_out;
};

// Keys and values of one layer of one row, [length, D] each.
struct Past {
  Row keys;
  Row values;
};

// One query over everything in `past`; q [D].
Row attend(const float* q, const Past& past, std::size_t width, std::size_t heads) {
  const std::size_t head_width = width / heads;
  const std::size_t length = past.keys.size() / width;
  const float scale = 1 / std::sqrt(static_cast<float>(head_width));
  Row result(width);
  for (std::size_t first = 0; first < width; first += head_width) {
    Row weights(length);
    for (std::size_t t = 0; t < length; ++t) {
      const float* key = past.keys.data() + t * width + first;
      for (std::size_t i = 0; i < head_width; ++i) weights[t] += q[first + i] * key[i] * scale;
    }
    const float most = *std::max_element(weights.begin(), weights.end());
    float sum = 0;
    for (float& weight : weights) sum += weight = std::exp(weight - most);
    for (std::size_t t = 0; t < length; ++t) {
      const float* value = past.values.data() + t * width + first;
      for (std::size_t i = 0; i < head_width; ++i) result[first + i] += weights[t] / sum * value[i];
    }
  }
  return result;
}

struct RowState {
  std::vector<Past> past;  // of each layer
  SamplingRule rule = {};
  std::vector<std::uint8_t> seen = {};
  std::vector<std::int32_t> codes = {};
  Row latents = {};
  Row logits = {};
  std::int64_t next = 0;  // the id to feed
  std::int64_t steps = 0;
  bool finished = true;
};

class ReferenceDecoder final : public CodeDecoder {
 public:
  ReferenceDecoder(const CodeDecoderShape& shape, const CodeDecoderWeights& weights)
      : shape_(shape),
        width_(static_cast<std::size_t>(shape.width)),
        last_norm_(weights.last_norm, width_),
        final_norm_(weights.final_norm, width_),
        embedding_(weights.embedding, weights.embedding + shape.ids * shape.width),
        positions_(weights.positions, weights.positions + shape.positions * shape.width),
        head_(weights.head.weight, weights.head.weight + shape.ids * shape.width),
        head_bias_(weights.head.bias, weights.head.bias + shape.ids),
        rows_(static_cast<std::size_t>(shape.rows)) {
    for (const LayerView& view : weights.layers) layers_.emplace_back(view, width_);
    for (RowState& row : rows_) row.past.resize(layers_.size());
  }

  void load_prefix(std::int64_t row, std::int64_t layer, const float* keys, const float* values,
                   std::int64_t length) override {
    Past& past = at(row).past[static_cast<std::size_t>(layer)];
    past.keys.assign(keys, keys + length * shape_.width);
    past.values.assign(values, values + length * shape_.width);
  }

  void start(std::int64_t row, std::int64_t prefix_length, const SamplingRule& rule) override {
    MYXTTS_CHECK(prefix_length + shape_.most_codes <= shape_.capacity,
                 "a prefix of {} and {} codes do not fit into {} keys", prefix_length,
                 shape_.most_codes, shape_.capacity);
    RowState& state = at(row);
    for (const Past& past : state.past) {
      MYXTTS_CHECK(past.keys.size() >= static_cast<std::size_t>(prefix_length) * width_,
                   "row {} starts behind {} keys that were not loaded", row, prefix_length);
    }
    state.rule = rule;
    state.seen.assign(static_cast<std::size_t>(shape_.ids), 0);
    state.seen[static_cast<std::size_t>(shape_.filler)] = 1;
    state.seen[static_cast<std::size_t>(shape_.start)] = 1;
    state.codes.clear();
    state.codes.reserve(static_cast<std::size_t>(shape_.most_codes));
    state.latents.assign(static_cast<std::size_t>(shape_.most_codes) * width_, 0);
    state.next = shape_.start;
    state.steps = 0;
    state.finished = false;
  }

  void advance(std::int64_t steps) override {
    for (RowState& row : rows_) {
      for (std::int64_t i = 0; i < steps && !row.finished; ++i) step(row);
    }
  }

  void feed(std::int64_t row, std::int64_t id) override { append(at(row), id); }
  void stop(std::int64_t row) override { at(row).finished = true; }

  void reorder(const std::vector<std::int64_t>& from) override {
    const std::vector<RowState> before = rows_;
    for (std::size_t i = 0; i < from.size(); ++i) {
      rows_[i] = before.at(static_cast<std::size_t>(from[i]));
    }
  }

  void wait(std::int64_t /*steps*/) override {}

  RowProgress progress(std::int64_t row) const override {
    const RowState& state = rows_.at(static_cast<std::size_t>(row));
    return {static_cast<std::int32_t>(state.codes.size()), state.finished};
  }
  std::int64_t steps(std::int64_t row) const override {
    return rows_.at(static_cast<std::size_t>(row)).steps;
  }

  const std::int32_t* codes(std::int64_t row) const override {
    return rows_.at(static_cast<std::size_t>(row)).codes.data();
  }
  const float* latents(std::int64_t row) const override {
    return rows_.at(static_cast<std::size_t>(row)).latents.data();
  }
  const float* logits(std::int64_t row) const override {
    return rows_.at(static_cast<std::size_t>(row)).logits.data();
  }

 private:
  RowState& at(std::int64_t row) { return rows_.at(static_cast<std::size_t>(row)); }

  Row embed(std::int64_t id, std::size_t position) const {
    Row x(embedding_.begin() + id * shape_.width, embedding_.begin() + (id + 1) * shape_.width);
    for (std::size_t i = 0; i < width_; ++i) x[i] += positions_[position * width_ + i];
    return x;
  }

  Row through_layer(const Layer& layer, Past& past, const Row& x) const {
    const Row qkv = layer.qkv(layer.before_attention(x));
    past.keys.insert(past.keys.end(), qkv.begin() + shape_.width, qkv.begin() + 2 * shape_.width);
    past.values.insert(past.values.end(), qkv.begin() + 2 * shape_.width, qkv.end());
    const Row mixed = attend(qkv.data(), past, width_, static_cast<std::size_t>(shape_.heads));
    const Row attended = added(layer.attention_out(mixed), x);
    Row hidden = layer.mlp_in(layer.before_mlp(attended));
    std::transform(hidden.begin(), hidden.end(), hidden.begin(), gelu_tanh);
    return added(layer.mlp_out(hidden), attended);
  }

  Row to_logits(const Row& state) const {
    Row logits = head_bias_;
    for (std::size_t id = 0; id < logits.size(); ++id) {
      for (std::size_t i = 0; i < width_; ++i) logits[id] += state[i] * head_[id * width_ + i];
    }
    return logits;
  }

  void step(RowState& row) const {
    const std::size_t count = row.codes.size();
    Row x = embed(row.next, count);
    for (std::size_t i = 0; i < layers_.size(); ++i) x = through_layer(layers_[i], row.past[i], x);
    const Row state = final_norm_(last_norm_(x));
    std::copy(state.begin(), state.end(), row.latents.data() + count * width_);
    row.logits = to_logits(state);
    ++row.steps;
    if (!row.rule.by_caller) append(row, choose(row));
  }

  static std::int64_t choose(const RowState& row) {
    const RandomStream random(row.rule.seed, row.rule.stream);
    const double uniform = random.uniform(row.rule.first_draw + row.codes.size());
    return pick_code(row.logits, row.seen, row.rule, uniform);
  }

  void append(RowState& row, std::int64_t id) const {
    row.next = id;
    row.seen[static_cast<std::size_t>(id)] = 1;
    row.codes.push_back(static_cast<std::int32_t>(id));
    row.finished =
        !row.rule.by_caller &&
        (id == shape_.stop || static_cast<std::int64_t>(row.codes.size()) >= shape_.most_codes);
  }

  const CodeDecoderShape shape_;
  const std::size_t width_;
  std::vector<Layer> layers_;
  Norm last_norm_;
  Norm final_norm_;
  Row embedding_;
  Row positions_;
  Row head_;  // [ids, D]
  Row head_bias_;
  std::vector<RowState> rows_;
};

}  // namespace

std::unique_ptr<CodeDecoder> make_reference_decoder(const CodeDecoderShape& shape,
                                                    const CodeDecoderWeights& weights) {
  return std::make_unique<ReferenceDecoder>(shape, weights);
}

}  // namespace myxtts::test
