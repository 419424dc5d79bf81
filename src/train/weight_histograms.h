// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/named_tensors.h"
#include "train/metrics_observer.h"

namespace myxtts {

// How the values of each tensor are spread, counted on their device in ranges of equal width. Waits
// for the device. A tensor with a value that is not finite is left out.
NamedHistograms weight_histograms(const NamedTensors& weights);

}  // namespace myxtts
