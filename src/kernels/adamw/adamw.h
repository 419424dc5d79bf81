// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "config/run_config.h"
#include "device/stream.h"

namespace myxtts {

// AdamW as torch.optim has it: decay is taken off the weight itself and not off the gradient.
struct AdamWRule {
  double beta1 = 0.9;
  double beta2 = 0.96;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip = 0;           // the norm that gradients are clipped to; 0: they are not
  bool scaled_loss = false;  // fp16: the loss scale follows the overflows
  std::uint64_t seed = 0;    // of rounding where moments are short
};

enum class NumberFormat { Fp32, Bf16, Fp16 };

// Moments of eight bits have a scale for each block of so many numbers.
inline constexpr std::int64_t kAdamWBlock = 256;
// Each parameter begins at a multiple of this within the arrays, so that a block and a partial sum
// of gradients are of one parameter.
inline constexpr std::int64_t kAdamWAlignment = 1024;

// One of AdamW's two averages. Of eight bits each block has a scale; see Note [Short moments].
struct MomentArray {
  void* numbers = nullptr;
  float* scales = nullptr;  // of eight bits: one for each block; else null
};

// Flat arrays of all trained parameters, on one device; `count` is a multiple of kAdamWAlignment.
struct AdamWArrays {
  std::int64_t count = 0;
  std::int64_t decayed = 0;  // the first so many; the rest is not pulled towards 0

  float* weights = nullptr;
  void* copy = nullptr;  // of the weights in the step's arithmetic; null: it is fp32
  NumberFormat copy_format = NumberFormat::Fp32;

  void* gradients = nullptr;
  NumberFormat gradient_format = NumberFormat::Fp32;
  bool clear_gradients = true;  // to 0, once they are used

  MomentArray means = {};
  MomentArray squares = {};
  Moments moments = Moments::Fp32;

  float* partial_sums = nullptr;  // [count / kAdamWAlignment] of squared gradients

  // The part that update() changes, multiples of kAdamWAlignment; the length of all gradients
  // counts. The moments' pointers are those of a whole array, of which only this part is there.
  std::int64_t own_first = 0;
  std::optional<std::int64_t> own_count = {};  // nothing: all
};

// A part of the arrays, such as one parameter's, with gradients of its own.
struct AdamWPart {
  std::int64_t first = 0;  // a multiple of kAdamWAlignment
  std::int64_t count = 0;
  const void* gradients = nullptr;  // [count]
};

// A step has one loss that is trained and so many at most that are reported beside it.
inline constexpr std::int64_t kMostLosses = 8;

// The result of a step, for logs.
struct UpdateReport {
  std::int64_t step = 0;
  double gradient_norm = 0;  // unscaled, before clipping
  float loss = 0;            // what was trained
  float losses[kMostLosses] = {};
  float loss_scale = 1;
  std::int32_t skipped = 0;  // 1: loss or gradient was not finite
};

// What is decided about a step where its numbers are: on the device.
struct UpdateState {
  // Kept from step to step, and in checkpoints.
  std::int64_t applied = 0;     // updates that changed the weights; AdamW's own count of steps
  std::int64_t good_steps = 0;  // in a row since the loss scale changed
  float loss_scale = 1;         // what the loss is multiplied by

  // Of the current step: its inputs, and sums over its batches, which are 0 again after it.
  std::int64_t step = 0;
  double learning_rate = 0;
  float loss = 0;                  // what is trained; the one that must be finite
  float losses[kMostLosses] = {};  // what is reported beside it

  UpdateReport report = {};

  // What follows for each weight.
  std::int32_t skip = 0;
  std::uint32_t rounding = 0;  // what the random bits of this step's rounding begin with
  float gradient_factor = 1;   // clipping and the loss scale
  float decay_factor = 1;      // 1 - learning rate · weight decay
  float step_size = 0;         // learning rate over the first bias correction
  float square_factor = 1;     // 1 over the root of the second bias correction
};

// The loss scale that fp16 starts with, and after how many good steps it is doubled.
inline constexpr float kFirstLossScale = 65'536.0F;
inline constexpr std::int64_t kGoodStepsToDouble = 2000;

// Note [Two passes of an update]
// The first pass reads every gradient: their common length, and with it whether all are finite. One
// thread then decides, on the device: skip or not, clip, loss scale, bias corrections. The second
// pass reads gradients again and writes weights, moments and the weights' copy. Nothing comes back
// to the host, and nothing but the learning rate comes from it.
//
// Where gradients are freed as they come, begin() decides from the losses alone, apply_part()
// follows for each parameter, and finish() reports. There a gradient that is not finite leaves its
// own weight alone, as the others are updated already.
//
// All work is queued on `stream`, whose device the pointers are of. What comes from the host comes
// with prepare(), so the rest may stand in a CUDA graph.
class AdamW {
 public:
  virtual ~AdamW() = default;

  virtual void prepare(const Stream& stream, UpdateState* state, std::int64_t step,
                       double learning_rate) const = 0;

  virtual void update(const Stream& stream, const AdamWArrays& arrays,
                      UpdateState* state) const = 0;

  virtual void begin(const Stream& stream, UpdateState* state) const = 0;
  virtual void apply_part(const Stream& stream, const AdamWArrays& arrays, const AdamWPart& part,
                          UpdateState* state) const = 0;
  virtual void finish(const Stream& stream, const AdamWArrays& arrays,
                      UpdateState* state) const = 0;

  // Adds gradients to sums in fp32 and sets them to 0, where a step has several batches.
  virtual void add_up(const Stream& stream, const AdamWArrays& arrays, float* sums) const = 0;
};

// The one that every other is compared with. Its threads are LibTorch's of the calling thread.
std::unique_ptr<AdamW> make_cpu_adamw(const AdamWRule& rule);

// Through the CUDA plugin. Throws DeviceError where there is none.
std::unique_ptr<AdamW> make_cuda_adamw(const AdamWRule& rule);

}  // namespace myxtts

// Blocks of the arrays of AdamW on the CPU, from and to whatever they are kept in.

namespace myxtts::adamw {

using Block = std::array<float, kAdamWBlock>;

// 0 for what is not below `count`.
void load(const void* array, NumberFormat format, std::int64_t first, std::int64_t count,
          Block& block);
void store(void* array, NumberFormat format, std::int64_t first, const float* numbers);
void clear(void* array, NumberFormat format, std::int64_t first);

void load_moments(const AdamWArrays& arrays, std::int64_t first, Block& means, Block& squares);
// `key` begins the random bits of rounding; see random_bits().
void store_moments(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                   const Block& means, const Block& squares);

}  // namespace myxtts::adamw
