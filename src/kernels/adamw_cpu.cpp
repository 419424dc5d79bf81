// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>

#include "kernels/adamw.h"
#include "kernels/adamw_blocks.h"
#include "kernels/adamw_numbers.h"

namespace myxtts {
namespace {

using namespace adamw;

constexpr std::int64_t kGrain = 32;  // kAdamWAlignment numbers each

// The block of the arrays at `first` by its gradients. Where one is not finite its weight stays.
void step_block(const AdamWArrays& arrays, const AdamWRule& rule, const UpdateState& state,
                std::int64_t first, const Block& gradients) {
  const Factors factors = factors_of(rule, state);
  const float decay = first < arrays.decayed ? factors.decay_factor : 1.0F;
  BlockMoments moments;
  load_moments(arrays, first, moments);
  float* weights = arrays.weights + first;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    if (!finite(gradients[i])) continue;
    Element element{.weight = weights[i], .mean = moments.means[i], .square = moments.squares[i]};
    step(factors, gradients[i], decay, element);
    weights[i] = element.weight;
    moments.means[i] = element.mean;
    moments.squares[i] = element.square;
  }
  store_moments(arrays, first, state.rounding, moments);
  if (arrays.copy != nullptr) store(arrays.copy, arrays.copy_format, first, weights);
}

float squares_of(const Block& numbers) {
  float sum = 0;
  for (const float number : numbers) sum += number * number;
  return sum;
}

// `work` for every multiple of kAdamWAlignment below `count`, on several threads.
template <typename Work>
void for_each_part(std::int64_t count, const Work& work) {
  const std::int64_t parts = (count + kAdamWAlignment - 1) / kAdamWAlignment;
  at::parallel_for(0, parts, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part) work(part * kAdamWAlignment);
  });
}

// The same for every multiple of kAdamWBlock.
template <typename Work>
void for_each_block(std::int64_t count, const Work& work) {
  for_each_part(count, [&](std::int64_t first) {
    const std::int64_t end = std::min(count, first + kAdamWAlignment);
    for (std::int64_t block = first; block < end; block += kAdamWBlock) work(block);
  });
}

class CpuAdamW final : public AdamW {
 public:
  explicit CpuAdamW(const AdamWRule& rule) : rule_(rule) {}

  void prepare(const Stream&, UpdateState* state, std::int64_t step,
               double learning_rate) const override {
    state->step = step;
    state->learning_rate = learning_rate;
  }

  void update(const Stream&, const AdamWArrays& arrays, UpdateState* state) const override {
    measure(arrays, {.first = 0, .count = arrays.count, .gradients = arrays.gradients});
    decide(rule_, *state, sum(arrays));
    if (state->skip == 0) apply(arrays, own_part(arrays), *state);
    if (!arrays.clear_gradients) return;
    for_each_block(arrays.count, [&](std::int64_t block) {
      clear(arrays.gradients, arrays.gradient_format, block);
    });
  }

  void begin(const Stream&, UpdateState* state) const override { decide(rule_, *state, 0.0); }

  void apply_part(const Stream&, const AdamWArrays& arrays, const AdamWPart& part,
                  UpdateState* state) const override {
    measure(arrays, part);
    if (state->skip == 0) apply(arrays, part, *state);
  }

  void finish(const Stream&, const AdamWArrays& arrays, UpdateState* state) const override {
    state->report.gradient_norm = std::sqrt(sum(arrays));
  }

  void add_up(const Stream&, const AdamWArrays& arrays, float* sums) const override {
    for_each_block(arrays.count, [&](std::int64_t first) {
      Block gradients;
      load(arrays.gradients, arrays.gradient_format, first, arrays.count, gradients);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        sums[first + static_cast<std::int64_t>(i)] += gradients[i];
      }
      clear(arrays.gradients, arrays.gradient_format, first);
    });
  }

 private:
  static AdamWPart own_part(const AdamWArrays& arrays) {
    const std::int64_t bytes = arrays.gradient_format == NumberFormat::Fp32 ? 4 : 2;
    return {.first = arrays.own_first,
            .count = arrays.own_count.value_or(arrays.count),
            .gradients = static_cast<const char*>(arrays.gradients) + arrays.own_first * bytes};
  }

  void apply(const AdamWArrays& arrays, const AdamWPart& part, const UpdateState& state) const {
    for_each_block(part.count, [&](std::int64_t first) {
      Block gradients;
      load(part.gradients, arrays.gradient_format, first, part.count, gradients);
      step_block(arrays, rule_, state, part.first + first, gradients);
    });
  }

  static void measure(const AdamWArrays& arrays, const AdamWPart& part) {
    for_each_part(part.count, [&](std::int64_t first) {
      float squares = 0;
      for (std::int64_t block = first; block < first + kAdamWAlignment; block += kAdamWBlock) {
        Block gradients;
        load(part.gradients, arrays.gradient_format, block, part.count, gradients);
        squares += squares_of(gradients);
      }
      arrays.partial_sums[(part.first + first) / kAdamWAlignment] = squares;
    });
  }

  // In one order, so the sum does not depend on the number of threads.
  static double sum(const AdamWArrays& arrays) {
    double squares = 0;
    for (std::int64_t i = 0; i < arrays.count / kAdamWAlignment; ++i) {
      squares += static_cast<double>(arrays.partial_sums[i]);
    }
    return squares;
  }

  const AdamWRule rule_;
};

}  // namespace

std::unique_ptr<AdamW> make_cpu_adamw(const AdamWRule& rule) {
  return std::make_unique<CpuAdamW>(rule);
}

}  // namespace myxtts
