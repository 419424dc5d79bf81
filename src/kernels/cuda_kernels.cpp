// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_kernels.h"

#include <algorithm>
#include <utility>

#include "device/cuda_plugin.h"
#include "kernels/adamw/adamw.h"
#include "kernels/decode/code_decoder.h"
#include "kernels/mel/sound_mel.h"

namespace myxtts {
namespace {

thread_local const PlainExpressions* innermost = nullptr;

}  // namespace

PlainExpressions::PlainExpressions(std::vector<Operation> operations)
    : before_(innermost), operations_(std::move(operations)) {
  innermost = this;
}

PlainExpressions::~PlainExpressions() {
  innermost = before_;
}

bool PlainExpressions::covers(Operation operation) const {
  return operations_.empty() || std::ranges::find(operations_, operation) != operations_.end();
}

const CudaKernels* cuda_kernels(Operation operation) {
  if (innermost != nullptr && innermost->covers(operation)) return nullptr;
  const CudaBackend* backend = cuda_plugin_is_open() ? cuda_plugin().backend : nullptr;
  return backend != nullptr ? &backend->kernels() : nullptr;
}

std::unique_ptr<AdamW> make_cuda_adamw(const AdamWRule& rule) {
  return require_cuda().kernels().make_adamw(rule);
}

std::unique_ptr<CodeDecoder> make_cuda_code_decoder(const CodeDecoderOptions& options,
                                                    const CodeDecoderWeights& weights) {
  return require_cuda().kernels().make_code_decoder(options, weights);
}

void cuda_sound_mel(const SoundMelView& tables, const SoundMelShape& shape,
                    std::span<const SoundPiece> pieces, float* out, const Stream& stream) {
  require_cuda().kernels().sound_mel(tables, shape, pieces, out, stream);
}

}  // namespace myxtts
