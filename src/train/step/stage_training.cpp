// SPDX-License-Identifier: Apache-2.0
#include "train/step/stage_training.h"

#include <cstdlib>

#include <ATen/Context.h>

namespace myxtts {

void set_arithmetic(Precision precision, bool deterministic) {
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(precision == Precision::Tf32);
  context.setAllowTF32CuDNN(precision == Precision::Tf32);
  // cuBLAS sums in one order only with a work space of a fixed size, which it reads from here.
  if (deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(deterministic);
}

at::ScalarType type_of(Precision precision) {
  if (precision == Precision::Bf16) return at::kBFloat16;
  return precision == Precision::Fp16 ? at::kHalf : at::kFloat;
}

}  // namespace myxtts
