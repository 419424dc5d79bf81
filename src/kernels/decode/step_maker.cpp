// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/step_maker.cuh"

#include <utility>

#include "base/error.h"
#include "kernels/decode/decode_kernels.cuh"

namespace myxtts {
namespace {

// Keys and values of all layers, [layers, rows, heads, capacity, head width] each.
template <typename Number>
class KeyStore {
 public:
  explicit KeyStore(const CodeDecoderShape& shape)
      : shape_(shape),
        row_(shape.capacity * shape.width),
        keys_(shape.layers * shape.rows * row_),
        values_(shape.layers * shape.rows * row_) {}

  Number* keys(std::int64_t layer, std::int64_t row = 0) const {
    return keys_.get() + (layer * shape_.rows + row) * row_;
  }
  Number* values(std::int64_t layer, std::int64_t row = 0) const {
    return values_.get() + (layer * shape_.rows + row) * row_;
  }

  void load(std::int64_t row, std::int64_t layer, const float* keys_from, const float* values_from,
            std::int64_t length, cudaStream_t stream) const {
    launch_scatter_heads<Number>(shape_, keys_from, keys(layer, row), length, stream);
    launch_scatter_heads<Number>(shape_, values_from, values(layer, row), length, stream);
  }

  // By way of a second store, for a row may be taken by several.
  void copy_rows(const std::vector<std::int64_t>& from, cudaStream_t stream) {
    if (spare_.count() == 0) spare_ = CudaArray<Number>(shape_.rows * row_);
    for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
      copy_layer(keys(layer), from, stream);
      copy_layer(values(layer), from, stream);
    }
  }

 private:
  void copy_layer(Number* rows, const std::vector<std::int64_t>& from, cudaStream_t stream) const {
    const auto bytes = static_cast<std::size_t>(row_) * sizeof(Number);
    const auto copy = [&](Number* to, const Number* source, std::size_t count) {
      check(cudaMemcpyAsync(to, source, count, cudaMemcpyDeviceToDevice, stream), "copying keys");
    };
    copy(spare_.get(), rows, bytes * static_cast<std::size_t>(shape_.rows));
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (from[i] != row) copy(rows + row * row_, spare_.get() + from[i] * row_, bytes);
    }
  }

  const CodeDecoderShape shape_;
  const std::int64_t row_;
  CudaArray<Number> keys_;
  CudaArray<Number> values_;
  CudaArray<Number> spare_;
};

// Copies of fp32 tensors that outlive the caller's.
class FloatStore {
 public:
  explicit FloatStore(cudaStream_t stream) : stream_(stream) {}

  const float* keep(const float* from, std::int64_t count) {
    const auto& array = arrays_.emplace_back(count);
    check(cudaMemcpyAsync(array.get(), from, array.bytes(), cudaMemcpyDeviceToDevice, stream_),
          "copying weights");
    return array.get();
  }
  NormView keep(const NormView& norm, std::int64_t width) {
    return {keep(norm.scale, width), keep(norm.shift, width)};
  }

 private:
  cudaStream_t stream_;
  std::vector<CudaArray<float>> arrays_;
};

// A kernel for each operation, the whole step one graph.
template <typename Number>
class GraphSteps final : public StepMaker {
 public:
  GraphSteps(const CodeDecoderShape& shape, const CodeDecoderWeights& weights,
             const RowTables& tables, cudaStream_t stream)
      : shape_(shape), tables_(tables), stream_(stream), floats_(stream), keys_(shape) {
    const std::int64_t d = shape.width;
    for (const LayerView& layer : weights.layers) keep_layer(layer);
    ends_ = {.embedding = floats_.keep(weights.embedding, shape.ids * d),
             .positions = floats_.keep(weights.positions, shape.positions * d),
             .last_norm = floats_.keep(weights.last_norm, d),
             .final_norm = floats_.keep(weights.final_norm, d),
             .head = nullptr,
             .head_bias = floats_.keep(weights.head.bias, shape.ids)};
    auto& head = weights_.emplace_back(shape.ids * d);
    launch_convert<Number>(weights.head.weight, head.get(), shape.ids * d, stream_);
    ends_.head = head.get();
    const std::int64_t rows = shape.rows;
    work_ = CudaArray<float>(rows * 10 * d);
    float* const w = work_.get();
    buffers_ = {.x = w,
                .normed = w + rows * d,
                .qkv = w + 2 * rows * d,
                .attended = w + 5 * rows * d,
                .hidden = w + 6 * rows * d};
    check(cudaMemsetAsync(w, 0, work_.bytes(), stream_), "clearing work space");
    capture();
  }
  ~GraphSteps() override { cudaGraphExecDestroy(graph_); }

  void load_prefix(std::int64_t row, std::int64_t layer, const float* keys, const float* values,
                   std::int64_t length) override {
    keys_.load(row, layer, keys, values, length, stream_);
  }
  void start() override {}
  void step() override { check(cudaGraphLaunch(graph_, stream_), "decoding a step"); }
  void copy_rows(const std::vector<std::int64_t>& from) override { keys_.copy_rows(from, stream_); }

 private:
  const Number* transposed(const float* weight, std::int64_t in, std::int64_t out) {
    auto& array = weights_.emplace_back(in * out);
    launch_transpose<Number>(weight, array.get(), in, out, stream_);
    return array.get();
  }

  void keep_layer(const LayerView& view) {
    const std::int64_t d = shape_.width;
    const auto index = static_cast<std::int64_t>(layers_.size());
    layers_.push_back({.before_attention = floats_.keep(view.before_attention, d),
                       .before_mlp = floats_.keep(view.before_mlp, d),
                       .qkv = transposed(view.qkv.weight, d, 3 * d),
                       .attention_out = transposed(view.attention_out.weight, d, d),
                       .mlp_in = transposed(view.mlp_in.weight, d, 4 * d),
                       .mlp_out = transposed(view.mlp_out.weight, 4 * d, d),
                       .qkv_bias = floats_.keep(view.qkv.bias, 3 * d),
                       .attention_out_bias = floats_.keep(view.attention_out.bias, d),
                       .mlp_in_bias = floats_.keep(view.mlp_in.bias, 4 * d),
                       .mlp_out_bias = floats_.keep(view.mlp_out.bias, d),
                       .keys = keys_.keys(index),
                       .values = keys_.values(index)});
  }

  void capture() {
    const std::string doing = "capturing the step of decoding";
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), doing);
    launch_embed<Number>(shape_, tables_, ends_, buffers_, stream_);
    for (const auto& layer : layers_) {
      launch_layer<Number>(shape_, tables_, layer, buffers_, stream_);
    }
    launch_choice<Number>(shape_, tables_, ends_, buffers_, stream_);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), doing);
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, doing);
  }

  const CodeDecoderShape shape_;
  const RowTables tables_;
  cudaStream_t stream_;
  FloatStore floats_;
  KeyStore<Number> keys_;
  std::vector<CudaArray<Number>> weights_;
  std::vector<StepLayer<Number>> layers_;
  StepEnds<Number> ends_ = {};
  CudaArray<float> work_;
  StepBuffers buffers_ = {};
  cudaGraphExec_t graph_ = nullptr;
};

// One kernel for the step.
class FusedSteps final : public StepMaker {
 public:
  FusedSteps(const CodeDecoderShape& shape, const CodeDecoderWeights& weights,
             const RowTables& tables, cudaStream_t stream)
      : stream_(stream),
        floats_(stream),
        keys_(shape),
        packed_(fused::kBlocks * fused::stream_bytes(static_cast<int>(shape.layers))),
        layer_floats_(shape.layers * fused::kLayerFloats),
        mail_(fused::mail_floats(static_cast<int>(shape.rows))),
        mail_logits_(2 * shape.rows * fused::kMailLogits) {
    fused::launch_pack(weights, static_cast<int>(shape.ids), packed_.get(), stream_);
    float* next = layer_floats_.get();
    for (const LayerView& layer : weights.layers) next = keep_layer(layer, next);
    const std::int64_t d = shape.width;
    step_ = {.network = {.stream = packed_.get(),
                         .floats = layer_floats_.get(),
                         .last_norm = floats_.keep(weights.last_norm, d),
                         .final_norm = floats_.keep(weights.final_norm, d),
                         .head_bias = floats_.keep(weights.head.bias, shape.ids),
                         .embedding = floats_.keep(weights.embedding, shape.ids * d),
                         .positions = floats_.keep(weights.positions, shape.positions * d),
                         .layers = static_cast<int>(shape.layers)},
             .tables = tables,
             .keys = keys_.keys(0),
             .values = keys_.values(0),
             .capacity = static_cast<int>(shape.capacity),
             .mail = mail_.get(),
             .mail_logits = mail_logits_.get(),
             .cleared_logits = mail_logits_.get() + mail_logits_.count() / 2,
             .first_turn = 0};
  }

  void load_prefix(std::int64_t row, std::int64_t layer, const float* keys, const float* values,
                   std::int64_t length) override {
    keys_.load(row, layer, keys, values, length, stream_);
  }
  void start() override {
    const auto clear = [this](const CudaArray<float>& places) {
      check(cudaMemsetAsync(places.get(), 0xFF, places.bytes(), stream_), "starting a row");
    };
    clear(mail_);
    clear(mail_logits_);
  }
  void step() override {
    check(fused::launch_step(step_, stream_), "decoding a step");
    std::swap(step_.mail_logits, step_.cleared_logits);
    step_.first_turn = (step_.first_turn + step_.network.layers) % fused::kTurnsOfLayers;
  }
  void copy_rows(const std::vector<std::int64_t>& from) override { keys_.copy_rows(from, stream_); }

 private:
  float* keep_layer(const LayerView& layer, float* to) const {
    const auto put = [&](int at, const float* from, int count) {
      check(cudaMemcpyAsync(to + at, from, static_cast<std::size_t>(count) * sizeof(float),
                            cudaMemcpyDeviceToDevice, stream_),
            "copying weights");
    };
    put(fused::kScale1, layer.before_attention.scale, fused::kWidth);
    put(fused::kShift1, layer.before_attention.shift, fused::kWidth);
    put(fused::kQkvBias, layer.qkv.bias, 3 * fused::kWidth);
    put(fused::kOutBias, layer.attention_out.bias, fused::kWidth);
    put(fused::kScale2, layer.before_mlp.scale, fused::kWidth);
    put(fused::kShift2, layer.before_mlp.shift, fused::kWidth);
    put(fused::kInBias, layer.mlp_in.bias, fused::kHidden);
    put(fused::kMlpOutBias, layer.mlp_out.bias, fused::kWidth);
    return to + fused::kLayerFloats;
  }

  cudaStream_t stream_;
  FloatStore floats_;
  KeyStore<__nv_bfloat16> keys_;
  CudaArray<std::uint8_t> packed_;
  CudaArray<float> layer_floats_;
  CudaArray<float> mail_;
  CudaArray<float> mail_logits_;
  fused::Step step_ = {};
};

}  // namespace

std::unique_ptr<StepMaker> make_step_maker(const CodeDecoderOptions& options,
                                           const CodeDecoderWeights& weights,
                                           const RowTables& tables, cudaStream_t stream) {
  const std::string against = options.precision == DecodePrecision::Bf16
                                  ? fused::reason_against(options.shape, options.device)
                                  : "it is for bf16 weights";
  if (options.method == DecodeMethod::Fused && !against.empty()) {
    throw DeviceError(fmt::format("The fused decoding step cannot be used: {}.", against));
  }
  if (options.method != DecodeMethod::Steps && against.empty()) {
    return std::make_unique<FusedSteps>(options.shape, weights, tables, stream);
  }
  if (options.precision == DecodePrecision::Fp32) {
    return std::make_unique<GraphSteps<float>>(options.shape, weights, tables, stream);
  }
  return std::make_unique<GraphSteps<__nv_bfloat16>>(options.shape, weights, tables, stream);
}

}  // namespace myxtts
