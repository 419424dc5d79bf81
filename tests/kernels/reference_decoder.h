// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/decode/code_decoder.h"

namespace myxtts::test {

// A CodeDecoder on the CPU in plain loops, which defines what the kernels compute.
std::unique_ptr<CodeDecoder> make_reference_decoder(const CodeDecoderShape& shape,
                                                    const CodeDecoderWeights& weights);

}  // namespace myxtts::test
