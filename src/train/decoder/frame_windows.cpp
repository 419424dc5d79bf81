// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/frame_windows.h"

#include <ATen/ATen.h>

namespace myxtts {
namespace {

// Between which two places of a row each wanted one lies, and how far from the first.
struct Between {
  at::Tensor lower;  // int64
  at::Tensor upper;
  at::Tensor share;  // fp32, of the upper one
};

// As upsample_linear1d finds them by scale, rounding included.
Between between(const at::Tensor& places, double scale, const at::Tensor& length) {
  const auto inverse = static_cast<double>(static_cast<float>(1.0 / scale));
  const auto source = ((places.to(at::kFloat) + 0.5) * inverse - 0.5).clamp_min_(0);
  const auto last = length - 1;
  const auto lower = at::minimum(source.floor().to(at::kLong), last);
  return {.lower = lower,
          .upper = at::minimum(lower + 1, last),
          .share = (source - lower).clamp_(0, 1)};
}

double ratio(std::int64_t over, std::int64_t under) {
  return static_cast<double>(over) / static_cast<double>(under);
}

// Rows `which` [W, F] of latents [N, D], each times its weight.
at::Tensor weighted(const at::Tensor& latents, const at::Tensor& which, const at::Tensor& weights) {
  return latents.index({which}) * weights.unsqueeze(-1);  // [W, F, D]
}

// The first stretching at `places` [W, F] of it, each times its weight.
at::Tensor stretched_to_hop(const DecoderConfig& config, const at::Tensor& latents,
                            const WantedFrames& wanted, const at::Tensor& places,
                            const at::Tensor& weights) {
  const auto count = wanted.latents.unsqueeze(1);
  const auto first = wanted.first_latent.unsqueeze(1);
  const auto at = between(places, ratio(config.code_stride, config.output_hop), count);
  return weighted(latents, first + at.lower, weights * (1 - at.share)) +
         weighted(latents, first + at.upper, weights * at.share);
}

}  // namespace

at::Tensor frame_windows(const DecoderConfig& config, const at::Tensor& latents,
                         const WantedFrames& wanted) {
  const auto numbers = latents.to(at::kFloat);
  const auto places = wanted.first_frame.unsqueeze(1) +
                      at::arange(wanted.frames, wanted.first_frame.options());  // [W, F]
  const auto one = at::ones({}, numbers.options());
  if (config.output_sample_rate == config.input_sample_rate) {
    return stretched_to_hop(config, numbers, wanted, places, one.expand(places.sizes()))
        .transpose(1, 2);
  }
  const auto hops = wanted.latents.unsqueeze(1) * config.code_stride / config.output_hop;
  const auto at = between(places, ratio(config.output_sample_rate, config.input_sample_rate),
                          hops.to(at::kLong));
  return (stretched_to_hop(config, numbers, wanted, at.lower, 1 - at.share) +
          stretched_to_hop(config, numbers, wanted, at.upper, at.share))
      .transpose(1, 2);
}

}  // namespace myxtts
