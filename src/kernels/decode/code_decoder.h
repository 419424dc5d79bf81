// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/decode/code_sampling.h"

namespace myxtts {

// The sizes of a GPT that predicts codes, and of the room it works in.
struct CodeDecoderShape {
  std::int64_t layers = 30;
  std::int64_t width = 1024;  // D
  std::int64_t heads = 16;
  std::int64_t ids = 1026;        // codes, start and stop
  std::int64_t positions = 608;   // rows of the codes' position table
  std::int64_t start = 1024;      // the id before the first code
  std::int64_t stop = 1025;       // the id that ends a row
  std::int64_t filler = 1;        // the id that the penalty's history holds for the prefix
  std::int64_t rows = 1;          // decoded side by side
  std::int64_t capacity = 1044;   // keys of one row: prefix, start and codes
  std::int64_t most_codes = 602;  // a row ends there if it did not stop before

  std::int64_t head_width() const { return width / heads; }
};

// fp32, contiguous, in the checkpoint's layout; on the decoder's device. Read by the constructor
// only: a decoder keeps copies of its own.
struct NormView {
  const float* scale = nullptr;  // [D]
  const float* shift = nullptr;  // [D]
};
struct LinearView {
  const float* weight = nullptr;  // [in, out] in layers, [out, in] for the head
  const float* bias = nullptr;    // [out]
};
struct LayerView {
  NormView before_attention;
  LinearView qkv;  // q, k, v of D each
  LinearView attention_out;
  NormView before_mlp;
  LinearView mlp_in;  // 4 D
  LinearView mlp_out;
};
struct CodeDecoderWeights {
  std::vector<LayerView> layers;
  NormView last_norm;
  NormView final_norm;
  LinearView head;                   // [ids, D]
  const float* embedding = nullptr;  // [ids, D]
  const float* positions = nullptr;  // [positions, D]
};

// What weights and keys are kept in. Sums and activations are fp32 in each.
enum class DecodePrecision { Fp32, Bf16 };

// How a step is computed on a GPU.
enum class DecodeMethod {
  Auto,   // Fused where it can be
  Steps,  // a kernel for each operation, the step replayed as one CUDA graph: any size, any GPU
  Fused,  // one kernel for the whole step, weights streamed through shared memory while it works
};

struct CodeDecoderOptions {
  CodeDecoderShape shape = {};
  DecodePrecision precision = DecodePrecision::Bf16;
  DecodeMethod method = DecodeMethod::Auto;
  int device = 0;
};

// How far a row has come.
struct RowProgress {
  std::int32_t codes = 0;  // made so far, a stop included
  bool finished = true;
};

// Writes codes one after another behind prefixes, on one device.
//
//   load_prefix() for each layer, start() ──▶ advance() ... until finished ──▶ codes(), latents()
//
// The first step of a row feeds the start id, each further one the code before it. advance() only
// queues work; progress() never waits and says what the device has done so far; wait() waits for
// all that is queued. Rows are independent: one may be loaded and started anew while others go on.
// A finished row is left alone. One thread at a time.
class CodeDecoder {
 public:
  virtual ~CodeDecoder() = default;

  // Keys and values of the prefix in one layer, each [length, D] with the heads side by side, on
  // the decoder's device. Copied in the order of the decoder's own stream: the caller must have
  // waited for whatever computed them, and keeps them until the next wait().
  virtual void load_prefix(std::int64_t row, std::int64_t layer, const float* keys,
                           const float* values, std::int64_t length) = 0;

  virtual void start(std::int64_t row, std::int64_t prefix_length, const SamplingRule& rule) = 0;

  virtual void advance(std::int64_t steps) = 0;

  // For a row whose rule says by_caller: its next id, to be followed by advance(1).
  virtual void feed(std::int64_t row, std::int64_t id) = 0;

  // Row r goes on as a copy of row from[r] of all `from.size()` first rows.
  virtual void reorder(const std::vector<std::int64_t>& from) = 0;

  // The row's codes end here, whatever is queued for it. Waits for that.
  virtual void stop(std::int64_t row) = 0;

  // Waits until at most `steps` of those that were queued are left, or somewhat fewer.
  virtual void wait(std::int64_t steps = 0) = 0;
  virtual RowProgress progress(std::int64_t row) const = 0;
  virtual std::int64_t steps(std::int64_t row) const = 0;  // ids fed so far; after wait()

  // The first progress(row).codes of these are there: a stop comes as the last one.
  virtual const std::int32_t* codes(std::int64_t row) const = 0;  // host memory

  // The state each code was predicted from, after both last norms: [most codes, D] on the device.
  // The first progress(row).codes of these are there.
  virtual const float* latents(std::int64_t row) const = 0;

  // The last step's logits before any rule, [ids] on the device.
  virtual const float* logits(std::int64_t row) const = 0;
};

// On the GPU options.device, by the CUDA plugin. Throws DeviceError where there is no GPU, where
// memory is short, or where the method that was asked for cannot be used.
std::unique_ptr<CodeDecoder> make_cuda_code_decoder(const CodeDecoderOptions& options,
                                                    const CodeDecoderWeights& weights);

}  // namespace myxtts
