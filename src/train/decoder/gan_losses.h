// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "model/discriminators/discriminators.h"

namespace myxtts {

// Least-squares losses of the decoder and its discriminators, as HiFi-GAN has them: of each window
// [W] fp32, means over what a discriminator says about it, summed over the discriminators.

// Of the discriminators: recordings should have 1, what was made 0.
at::Tensor discriminator_loss(const Judgement& recorded, const Judgement& made);

// Of the decoder: what it made should have 1.
at::Tensor adversarial_loss(const Judgement& made);

// Of the decoder: the discriminators' layers should compute the same of both. Distances are means
// over a layer's numbers, and summed over the layers. No gradient goes to `recorded`.
at::Tensor feature_loss(const Judgement& recorded, const Judgement& made);

}  // namespace myxtts
