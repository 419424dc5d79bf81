// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <c10/util/Half.h>

#include "kernels/adamw/adamw.h"
#include "kernels/adamw/adamw_numbers.h"

namespace myxtts::adamw {
namespace {

template <typename Number>
Number* at(void* array, std::int64_t place) {
  return static_cast<Number*>(array) + place;
}

void store_short(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                 const Block& means, const Block& squares) {
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    const auto place = first + static_cast<std::int64_t>(i);
    const std::uint32_t random = random_bits(key, static_cast<std::uint32_t>(place));
    *at<std::uint16_t>(arrays.means.numbers, place) = to_bf16_at_random(means[i], random);
    *at<std::uint16_t>(arrays.squares.numbers, place) = to_bf16_at_random(squares[i], random >> 16);
  }
}

void store_eight_bits(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                      const Block& means, const Block& squares) {
  float largest_mean = 0;
  float largest_square = 0;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    largest_mean = std::max(largest_mean, fabsf(means[i]));
    largest_square = std::max(largest_square, squares[i]);
  }
  const float largest_root = sqrtf(largest_square);
  const float to_mean = largest_mean > 0 ? top<kMeanBits>() / largest_mean : 0.0F;
  const float to_root = largest_root > 0 ? top<kSquareBits>() / largest_root : 0.0F;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    const auto place = first + static_cast<std::int64_t>(i);
    const std::uint32_t random = random_bits(key, static_cast<std::uint32_t>(place));
    *at<std::uint8_t>(arrays.means.numbers, place) = encode_mean(means[i] * to_mean, random);
    *at<std::uint8_t>(arrays.squares.numbers, place) =
        static_cast<std::uint8_t>(encode<kSquareBits>(sqrtf(squares[i]) * to_root, random >> 16));
  }
  arrays.means.scales[first / kAdamWBlock] = largest_mean / top<kMeanBits>();
  arrays.squares.scales[first / kAdamWBlock] = largest_root / top<kSquareBits>();
}

}  // namespace

void load(const void* array, NumberFormat format, std::int64_t first, std::int64_t count,
          Block& block) {
  const auto there =
      static_cast<std::size_t>(std::clamp<std::int64_t>(count - first, 0, kAdamWBlock));
  std::fill(block.begin() + static_cast<std::ptrdiff_t>(there), block.end(), 0.0F);
  for (std::size_t i = 0; i < there; ++i) {
    const std::int64_t place = first + static_cast<std::int64_t>(i);
    switch (format) {
      case NumberFormat::Fp32:
        block[i] = static_cast<const float*>(array)[place];
        break;
      case NumberFormat::Bf16:
        block[i] = from_bf16(static_cast<const std::uint16_t*>(array)[place]);
        break;
      case NumberFormat::Fp16:
        block[i] = static_cast<float>(static_cast<const c10::Half*>(array)[place]);
        break;
    }
  }
}

void store(void* array, NumberFormat format, std::int64_t first, const float* numbers) {
  for (std::int64_t i = 0; i < kAdamWBlock; ++i) {
    switch (format) {
      case NumberFormat::Fp32:
        at<float>(array, first)[i] = numbers[i];
        break;
      case NumberFormat::Bf16:
        at<std::uint16_t>(array, first)[i] = to_bf16(numbers[i]);
        break;
      case NumberFormat::Fp16:
        at<c10::Half>(array, first)[i] = c10::Half(numbers[i]);
        break;
    }
  }
}

void clear(void* array, NumberFormat format, std::int64_t first) {
  const std::int64_t size = format == NumberFormat::Fp32 ? 4 : 2;
  std::fill_n(at<char>(array, first * size), kAdamWBlock * size, char{0});
}

void load_moments(const AdamWArrays& arrays, std::int64_t first, Block& means, Block& squares) {
  if (arrays.moments == Moments::Fp32 || arrays.moments == Moments::Bf16) {
    const auto format = arrays.moments == Moments::Fp32 ? NumberFormat::Fp32 : NumberFormat::Bf16;
    load(arrays.means.numbers, format, first, first + kAdamWBlock, means);
    load(arrays.squares.numbers, format, first, first + kAdamWBlock, squares);
    return;
  }
  const std::int64_t block = first / kAdamWBlock;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    const auto place = first + static_cast<std::int64_t>(i);
    means[i] =
        decode_mean(*at<std::uint8_t>(arrays.means.numbers, place)) * arrays.means.scales[block];
    const float root = decode<kSquareBits>(*at<std::uint8_t>(arrays.squares.numbers, place)) *
                       arrays.squares.scales[block];
    squares[i] = root * root;
  }
}

void store_moments(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                   const Block& means, const Block& squares) {
  switch (arrays.moments) {
    case Moments::Fp32:
      store(arrays.means.numbers, NumberFormat::Fp32, first, means.data());
      store(arrays.squares.numbers, NumberFormat::Fp32, first, squares.data());
      break;
    case Moments::Bf16:
      store_short(arrays, first, key, means, squares);
      break;
    case Moments::EightBit:
      store_eight_bits(arrays, first, key, means, squares);
      break;
  }
}

}  // namespace myxtts::adamw

namespace myxtts {
namespace {

using namespace adamw;

constexpr std::int64_t kGrain = 32;  // kAdamWAlignment numbers each

// The block of the arrays at `first` by its gradients. Where one is not finite its weight stays.
void step_block(const AdamWArrays& arrays, const AdamWRule& rule, const UpdateState& state,
                std::int64_t first, const Block& gradients) {
  const Factors factors = factors_of(rule, state);
  const float decay = first < arrays.decayed ? factors.decay_factor : 1.0F;
  Block means;
  Block squares;
  load_moments(arrays, first, means, squares);
  float* weights = arrays.weights + first;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    if (!finite(gradients[i])) continue;
    Element element{.weight = weights[i], .mean = means[i], .square = squares[i]};
    step(factors, gradients[i], decay, element);
    weights[i] = element.weight;
    means[i] = element.mean;
    squares[i] = element.square;
  }
  store_moments(arrays, first, state.rounding, means, squares);
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
