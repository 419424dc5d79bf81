// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw_blocks.h"

#include <algorithm>

#include <c10/util/Half.h>

#include "kernels/adamw_numbers.h"

namespace myxtts::adamw {
namespace {

template <typename Number>
Number* at(void* array, std::int64_t place) {
  return static_cast<Number*>(array) + place;
}

void store_short(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                 const BlockMoments& moments) {
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    const auto place = first + static_cast<std::int64_t>(i);
    const std::uint32_t random = random_bits(key, static_cast<std::uint32_t>(place));
    *at<std::uint16_t>(arrays.means.numbers, place) = to_bf16_at_random(moments.means[i], random);
    *at<std::uint16_t>(arrays.squares.numbers, place) =
        to_bf16_at_random(moments.squares[i], random >> 16);
  }
}

void store_eight_bits(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                      const BlockMoments& moments) {
  float largest_mean = 0;
  float largest_square = 0;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    largest_mean = std::max(largest_mean, fabsf(moments.means[i]));
    largest_square = std::max(largest_square, moments.squares[i]);
  }
  const float largest_root = sqrtf(largest_square);
  const float to_mean = largest_mean > 0 ? top<kMeanBits>() / largest_mean : 0.0F;
  const float to_root = largest_root > 0 ? top<kSquareBits>() / largest_root : 0.0F;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    const auto place = first + static_cast<std::int64_t>(i);
    const std::uint32_t random = random_bits(key, static_cast<std::uint32_t>(place));
    *at<std::uint8_t>(arrays.means.numbers, place) =
        encode_mean(moments.means[i] * to_mean, random);
    *at<std::uint8_t>(arrays.squares.numbers, place) = static_cast<std::uint8_t>(
        encode<kSquareBits>(sqrtf(moments.squares[i]) * to_root, random >> 16));
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

void load_moments(const AdamWArrays& arrays, std::int64_t first, BlockMoments& moments) {
  if (arrays.moments == Moments::Fp32 || arrays.moments == Moments::Bf16) {
    const auto format = arrays.moments == Moments::Fp32 ? NumberFormat::Fp32 : NumberFormat::Bf16;
    load(arrays.means.numbers, format, first, first + kAdamWBlock, moments.means);
    load(arrays.squares.numbers, format, first, first + kAdamWBlock, moments.squares);
    return;
  }
  const std::int64_t block = first / kAdamWBlock;
  for (std::size_t i = 0; i < kAdamWBlock; ++i) {
    const auto place = first + static_cast<std::int64_t>(i);
    moments.means[i] =
        decode_mean(*at<std::uint8_t>(arrays.means.numbers, place)) * arrays.means.scales[block];
    const float root = decode<kSquareBits>(*at<std::uint8_t>(arrays.squares.numbers, place)) *
                       arrays.squares.scales[block];
    moments.squares[i] = root * root;
  }
}

void store_moments(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                   const BlockMoments& moments) {
  switch (arrays.moments) {
    case Moments::Fp32:
      store(arrays.means.numbers, NumberFormat::Fp32, first, moments.means.data());
      store(arrays.squares.numbers, NumberFormat::Fp32, first, moments.squares.data());
      break;
    case Moments::Bf16:
      store_short(arrays, first, key, moments);
      break;
    case Moments::EightBit:
      store_eight_bits(arrays, first, key, moments);
      break;
  }
}

}  // namespace myxtts::adamw
