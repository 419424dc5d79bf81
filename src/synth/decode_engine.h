// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/model.h"
#include "kernels/decode/code_decoder.h"
#include "model/layers.h"
#include "model/named_tensors.h"
#include "synth/sampling.h"

namespace myxtts {

inline std::size_t as_index(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

// What one row is to speak, and in which voice.
struct DecodePrefix {
  at::Tensor latents;                  // [latents, D] fp32, on any device
  std::span<const std::int64_t> text;  // ids without START and STOP, which the engine adds
  std::uint32_t number = 0;            // of the text, for sampling_draw()
};

// The largest work an engine is made for. Its cache and graphs have these shapes from the start.
struct DecodeCapacity {
  std::int64_t rows = 1;
  std::int64_t codes = 0;  // of a row; 0: as many as the model allows, see most_codes()
};

// The codes of one row, and the state that predicted each: the decoder's input.
struct GeneratedRow {
  std::vector<std::int64_t> codes;  // the stop code last, if it came
  at::Tensor states;                // [codes, D] fp32 on the engine's device
  bool stopped = false;             // by the stop code, not by the limit
};

// A row in the making. The span is valid during the call; the tensor for good.
struct RowSoFar {
  std::size_t row = 0;
  std::span<const std::int64_t> codes;
  at::Tensor states;   // [codes, D] fp32 on the engine's device
  bool ended = false;  // nothing more comes for this row
};

// Hears of rows while they are made; false ends the generation of all rows as they are.
struct CodeListener {
  std::int64_t every = 0;  // codes of a row between two calls; 0: only at its end
  std::function<bool(const RowSoFar&)> hear = {};
};

// The GPT generating codes, with a cache of keys and values that is written in place. It has places
// for capacity().rows rows, which may have different lengths and see nothing of each other. There
// are two ways to use them, one at a time.
//
// Rows that come and go as they like, their codes chosen by the engine:
//
//   start(row, prefix, settings) ──▶ advance() ... ──▶ row(row) until it has ended, or stop(row)
//
// Rows in step, their codes chosen by the caller, as beams are:
//
//   begin(prefixes) ──▶ logits(), states() of the first code
//   step(codes)     ──▶ logits(), states() of the next          (as often as codes are wanted)
//
// The prefix of a row is [latents | START text STOP | start code]. states() are final_norm(ln_f(h))
// of the last input, logits() are the audio head on them. All numbers are fp32 whatever the weights
// are kept in.
//
// One thread at a time. The weights are shared or copied at construction and may go afterwards.
class DecodeEngine {
 public:
  virtual ~DecodeEngine() = default;

  // Reads the prefix into a place, whatever was there before; other rows go on. Throws DataError
  // when the text is longer than the model allows: the place is free then.
  virtual void start(std::size_t row, const DecodePrefix& prefix,
                     const SamplingSettings& settings) = 0;

  // The next code, or the next few, of every row that has not ended. An engine may work ahead.
  virtual void advance() = 0;

  virtual RowProgress progress(std::size_t row) const = 0;
  virtual GeneratedRow row(std::size_t row) const = 0;  // as far as progress() says

  // The row ends where it is. Its place is free, as that of a row which ended by itself.
  virtual void stop(std::size_t row) = 0;

  // All these rows from their start to their end, with the same settings and one beam each.
  std::vector<GeneratedRow> generate(std::span<const DecodePrefix> rows,
                                     const SamplingSettings& settings,
                                     const CodeListener& listener);

  // Forgets what was and reads these rows, at most as many as the capacity. Throws DataError when a
  // text is longer than the model allows.
  virtual void begin(std::span<const DecodePrefix> rows) = 0;

  // Feeds each row its code; kEnded leaves a row alone, and its logits and states mean nothing
  // from then on. At most `capacity().codes` codes of a row come out: the last is not fed.
  virtual void step(std::span<const std::int64_t> codes) = 0;
  static constexpr std::int64_t kEnded = -1;

  // Row r goes on as a copy of row from[r]: for beams.
  virtual void reorder(std::span<const std::int64_t> from) = 0;

  // Of the last begin() or step(), on the engine's device; the next call may write over them.
  virtual at::Tensor logits() const = 0;  // [rows, audio ids]
  virtual at::Tensor states() const = 0;  // [rows, D]

  const GptConfig& config() const { return config_; }
  const DecodeCapacity& capacity() const { return capacity_; }
  c10::Device device() const { return device_; }

 protected:
  DecodeEngine(const GptConfig& config, const DecodeCapacity& capacity, c10::Device device);

 private:
  const GptConfig config_;
  const DecodeCapacity capacity_;
  const c10::Device device_;
};

// Tells the listener of those codes of a row that it has not `heard` of, each time as many as it
// asked for; false: it wants no more.
bool report_codes(const DecodeEngine& engine, std::size_t row, const CodeListener& listener,
                  std::int64_t& heard);

// The longest text and the most codes of one generation: the peer's limits.
std::int64_t most_text_tokens(const GptConfig& config);  // without START and STOP
std::int64_t most_codes(const GptConfig& config);

// One text with settings.beams beams; the engine has as many rows. The best finished beam.
GeneratedRow generate_with_beams(DecodeEngine& engine, const DecodePrefix& prefix,
                                 const SamplingSettings& settings);

// The engine for a device. `weights` are those of a checkpoint ("gpt.…"), on any device. Throws
// DeviceError where there is none.
std::unique_ptr<DecodeEngine> make_decode_engine(const GptConfig& config,
                                                 const NamedTensors& weights,
                                                 const DecodeCapacity& capacity,
                                                 c10::Device device);

// LibTorch reads the prefixes, synth/cpu/ makes the steps with as many threads as LibTorch has. The
// weights are shared, and copied once more in the order in which a step reads them.
std::unique_ptr<DecodeEngine> make_cpu_engine(const GptConfig& config, const NamedTensors& weights,
                                              const DecodeCapacity& capacity);

// LibTorch reads the prefixes, kernels/ makes the steps and chooses the codes, all on the GPU
// options.device; see docs/internals/decode-engine.md. The shape of the options follows from the
// others. Throws DeviceError where there is no GPU.
std::unique_ptr<DecodeEngine> make_cuda_engine(const GptConfig& config, const NamedTensors& weights,
                                               const DecodeCapacity& capacity,
                                               CodeDecoderOptions options);

// The tensors of the GPT alone, dense fp32 on `device`: what engines are built on.
NamedTensors gpt_weights_on(const NamedTensors& weights, c10::Device device);

// Reads what stands before a row's codes by LibTorch, on the device of the weights it shares.
class PrefixReader {
 public:
  // `weights` as gpt_weights_on() gives them.
  PrefixReader(const GptConfig& config, const NamedTensors& weights);

  // [latents | START text STOP] as the first layer takes it, [N, D]. Throws DataError when the text
  // is longer than the model allows.
  at::Tensor embed(const DecodePrefix& prefix) const;

  // Keys and values of layer `layer`, [N, D] each, contiguous.
  using Sink =
      std::function<void(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values)>;

  // Hands each layer's keys and values of the inputs x [N, D] to the sink; gives the last layer's
  // output [N, D].
  at::Tensor read(at::Tensor x, const Sink& sink) const;

 private:
  struct Layer {
    NormWeights before_attention;
    LinearWeights qkv;
    LinearWeights attention_out;
    NormWeights before_mlp;
    LinearWeights mlp_in;
    LinearWeights mlp_out;
  };

  GptConfig config_;
  at::Tensor text_embedding_;  // [text ids, D]
  at::Tensor text_positions_;  // [text positions, D]
  std::vector<Layer> layers_;
};

}  // namespace myxtts
