// SPDX-License-Identifier: Apache-2.0
#include "model/memory_estimate.h"

#include "model/gpt_specs.h"
#include "model/network_specs.h"
#include "model/tensor_spec.h"

namespace myxtts {
namespace {

constexpr std::int64_t kSampleRate = 22'050;
constexpr std::int64_t kPromptFrames = 517;           // of six seconds
constexpr std::int64_t kPromptSamples = 132'300;      // of six seconds
constexpr std::int64_t kFeatureFrames = 4096;         // of a row of clips that the DVAE works on
constexpr std::int64_t kFloat = 4;                    // bytes
constexpr std::int64_t kStopCodes = 4;                // that follow a row's codes
constexpr std::int64_t kWorkSpaces = 4 * (32 << 20);  // of cuBLAS and cublasLt
constexpr std::int64_t kHalfEmpty = 24 << 20;         // of LibTorch's pieces for small tensors

std::int64_t bytes_of(Precision precision) {
  return precision == Precision::Bf16 || precision == Precision::Fp16 ? 2 : kFloat;
}

// Note [Kept bits] in kernels/attention/row_attention.cuh has the layout.
std::int64_t attention_mask_bytes(const GptConfig& gpt, const BatchShape& batch) {
  constexpr std::int64_t kGroup = 32;
  constexpr std::int64_t kBlock = kGroup * kGroup / 8;
  constexpr std::int64_t kHeadWidth = 64;  // of which our kernels are
  if (batch.clips == 0 || gpt.head_width() != kHeadWidth) return 0;
  const std::int64_t row = batch.tokens / batch.clips;
  const std::int64_t lines = row / (2 * kGroup) + 1;
  return batch.clips * lines * ((row + kGroup - 1) / kGroup + 1) * kBlock * gpt.heads;
}

// Note [Memory of a step]
// What one layer keeps of a token of width D until its backward pass, in numbers:
//
//   its input                    D      the sum after attention    D
//   its first layer norm         D      its second layer norm      D
//   query, key and value        3D      the MLP before gelu       4D
//   attention's output           D      the MLP after gelu        4D     = 16 D
//
// and two dropout masks of D bits; on the CPU, whose operations are not fused, of D bytes. A layer
// norm's two statistics and attention's logarithm of sums are fp32: 4 + H numbers. In half
// precision attention keeps its dropout's mask, half a bit for each head and pair of tokens of a
// row, in blocks of 32 x 32.
//
// A block of the conditioning encoder keeps of a frame its input, its norm, 3D of query, key and
// value and attention's output, 6 D; a layer of the perceiver its context with keys and values, and
// of each latent what its gated MLP of width 8/3 D needs. Behind the layers there are the last two
// norms' inputs, the states that have a target, and the logits, with their gradients when the
// backward pass begins, which is when most is in use. Half precision has a fused loss; in fp32 the
// loss also keeps the logarithm of the softmax and makes a gradient of it.
//
// Besides, cuBLAS and cublasLt have a work space of 32 MiB each in both of LibTorch's pools, the
// role's own and that of its graphs; LibTorch takes pieces of 2 and 20 MiB for smaller tensors and
// leaves one of each unfilled; and what it takes for larger ones has gaps: a fourteenth of the
// activations by measuring (docs/results/memory.md), between nothing and a seventh.
std::int64_t one_layer_bytes(const GptConfig& gpt, const BatchShape& batch, const StepKind& kind) {
  const std::int64_t number = bytes_of(kind.precision);
  const std::int64_t masks = kind.cpu ? 2 * gpt.width : gpt.width / 4;
  const std::int64_t token = 16 * gpt.width * number + masks + (4 + gpt.heads) * kFloat;
  std::int64_t bytes = batch.tokens * token;
  if (!kind.cpu && number < kFloat) bytes += attention_mask_bytes(gpt, batch);
  if (kind.cpu && batch.clips > 0) {
    // Probabilities before and after dropout and what they are multiplied by; scaled queries, keys.
    const std::int64_t row = batch.tokens / batch.clips;
    bytes += batch.clips * gpt.heads * row * row * 3 * kFloat;
    bytes += batch.tokens * 2 * gpt.width * number;
  }
  return bytes;
}

// Recomputed layers keep their inputs; only one at a time has the rest. Guided ones are not
// recomputed.
std::int64_t layer_bytes(const GptConfig& gpt, const BatchShape& batch, const StepKind& kind) {
  const std::int64_t layer = one_layer_bytes(gpt, batch, kind);
  if (!kind.savers.recompute) return gpt.layers * layer;
  const std::int64_t whole = kind.guided ? kGuidedLayers + 1 : 1;
  return whole * layer + gpt.layers * batch.tokens * 2 * gpt.width * bytes_of(kind.precision);
}

// Of each guided layer one head's attention and what of it counts, in fp32 for each pair of tokens
// of a line, and its queries and keys; on the CPU also all queries, keys and values as they were
// made, which attention alone does not keep there.
std::int64_t guide_bytes(const GptConfig& gpt, const BatchShape& batch, const StepKind& kind) {
  if (!kind.guided || batch.clips == 0) return 0;
  const std::int64_t lines = batch.segments > 0 ? batch.segments : batch.clips;
  const std::int64_t longest = batch.longest > 0 ? batch.longest : batch.tokens / batch.clips;
  const std::int64_t token = 2 * longest * kFloat + 2 * gpt.head_width() * bytes_of(kind.precision);
  const std::int64_t joined = kind.cpu ? batch.tokens * 3 * gpt.width * kFloat : 0;
  return kGuidedLayers * (lines * longest * token + joined);
}

std::int64_t conditioning_bytes(const GptConfig& gpt, const BatchShape& batch,
                                const StepKind& kind) {
  // On the CPU attention's output is transposed into a copy, and the sum is another tensor.
  const std::int64_t block = (kind.cpu ? 8 : 6) * gpt.width;
  const std::int64_t frames = kPromptFrames * gpt.conditioning_blocks * block;
  const std::int64_t context =
      (kPromptFrames + gpt.perceiver_latents) * (gpt.width + 2 * gpt.perceiver_width());
  const std::int64_t gated = gpt.width * 8 / 3;
  const std::int64_t latents =
      gpt.perceiver_latents * (4 * gpt.width + 2 * gpt.perceiver_width() + 4 * gated);
  return batch.clips * (frames + gpt.perceiver_depth * (context + latents)) *
         bytes_of(kind.precision);
}

// The heads, with what they read and what the loss makes of their logits.
std::int64_t head_bytes(const GptConfig& gpt, const BatchShape& batch, const StepKind& kind) {
  const std::int64_t number = bytes_of(kind.precision);
  const std::int64_t logits =
      batch.text_targets * gpt.text_ids + batch.audio_targets * gpt.audio_ids;
  const std::int64_t states =
      (2 * batch.tokens + batch.text_targets + batch.audio_targets) * gpt.width * number;
  if (kind.cpu) return states + logits * (2 * number + 3 * kFloat);
  return states + logits * number * (number < kFloat ? 2 : 4);
}

// Released gradients are there for a layer at a time, and for the largest table.
std::int64_t gradient_bytes(const GptConfig& gpt, std::int64_t parameters, const StepKind& kind) {
  const std::int64_t number = bytes_of(kind.precision);
  if (kind.savers.release_gradients) {
    return (12 * gpt.width * gpt.width + gpt.text_ids * gpt.width) * number;
  }
  const bool sums = kind.batches_a_step > 1 && number < kFloat;
  return parameters * (number + (sums ? kFloat : 0));
}

// Of eight bits, each block of 256 has a scale of four bytes.
std::int64_t moment_bytes(std::int64_t parameters, Moments moments) {
  if (moments == Moments::EightBit) return parameters * 2 + parameters * 2 * kFloat / 256;
  return parameters * 2 * (moments == Moments::Bf16 ? 2 : kFloat);
}

}  // namespace

BatchShape usual_batch(const GptConfig& gpt, std::int64_t clips) {
  constexpr std::int64_t kSeconds = 10;
  constexpr std::int64_t kText = 120;
  const std::int64_t samples = kSeconds * kSampleRate;
  const std::int64_t codes = (samples + gpt.code_stride - 1) / gpt.code_stride;
  return {.clips = clips,
          .tokens = clips * (gpt.perceiver_latents + kText + 1 + codes + kStopCodes),
          .text_targets = clips * (kText + 1),
          .audio_targets = clips * (codes + kStopCodes),
          .samples = clips * samples};
}

TrainingMemory training_memory(const ModelConfig& model, const BatchShape& batch,
                               const StepKind& kind) {
  const std::int64_t parameters = parameter_count(gpt_specs(model.gpt));
  const std::int64_t number = bytes_of(kind.precision);
  TrainingMemory memory{.weights = parameters * (number < kFloat ? kFloat + number : kFloat),
                        .gradients = gradient_bytes(model.gpt, parameters, kind),
                        .moments = moment_bytes(parameters, kind.savers.moments),
                        .layers = layer_bytes(model.gpt, batch, kind),
                        .conditioning = conditioning_bytes(model.gpt, batch, kind),
                        .guide = guide_bytes(model.gpt, batch, kind),
                        .heads = head_bytes(model.gpt, batch, kind)};
  const std::int64_t activations =
      memory.layers + memory.conditioning + memory.guide + memory.heads;
  memory.slack = kind.cpu ? activations / 8 + memory.weights / 32
                          : activations / 14 + kWorkSpaces + kHalfEmpty;
  return memory;
}

std::int64_t feature_memory(const ModelConfig& model, const BatchShape& batch) {
  const std::int64_t weights = parameter_count(dvae_specs(model.dvae)) * kFloat;
  // Spectra of a row and of eight prompts, complex and squared; layers of the DVAE with the
  // neighbours a convolution lays side by side.
  constexpr std::int64_t kBins = 1025;
  const std::int64_t spectra = (kFeatureFrames + 8 * kPromptFrames) * kBins * 4 * kFloat;
  const std::int64_t network =
      kFeatureFrames / 4 * (model.dvae.channels * 8 + 2 * model.dvae.codes) * kFloat +
      kFeatureFrames / 2 * model.dvae.hidden * 4 * kFloat;
  // A file may have twice the rate: 16 bits and fp32 of it, fp32 and 16 bits at our own rate.
  const std::int64_t sound =
      batch.samples * (2 * 2 + 2 * kFloat + kFloat + 2) + batch.clips * kPromptSamples * kFloat;
  return weights + spectra + network + sound;
}

std::int64_t slot_memory(const ModelConfig& model, const BatchShape& batch) {
  constexpr std::int64_t kIndex = 8;  // bytes
  return (2 * batch.tokens + 3 * (batch.text_targets + batch.audio_targets)) * kIndex +
         batch.clips * kPromptFrames * model.gpt.mel_bands * kFloat;
}

}  // namespace myxtts
