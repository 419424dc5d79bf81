// SPDX-License-Identifier: Apache-2.0
#include "config/obsolete.h"

#include <array>
#include <utility>

namespace myxtts {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kObsolete{{
    {"data.use_tf_native_loading", "there is one loader, and it is native"},
    {"data.prefetch_to_gpu", "batches always wait on the model device"},
    {"data.enhanced_gpu_prefetch", "batches always wait on the model device"},
    {"data.optimize_cpu_gpu_overlap", "data work and training always overlap"},
    {"data.pin_memory", "what is copied to a GPU is always pinned"},
    {"data.enable_xla", "there is no XLA; see train.enable_static_shapes"},
    {"data.mixed_precision", "train.precision decides the arithmetic"},
    {"data.preprocessing_mode", "data.cache_dataset decides whether features are kept"},
    {"data.enable_memory_mapping", "the feature cache chooses how it is read"},
    {"data.cache_verification", "the feature cache is always verified"},
    {"data.shuffle_buffer_multiplier", "clips are drawn from the whole corpus, without a buffer"},
    {"data.pad_to_fixed_length", "batches are packed; see train.enable_static_shapes"},
    {"data.pad_to_multiple", "batches are packed, not padded"},
}};

}  // namespace

std::string_view reason_obsolete(std::string_view key) {
  for (const auto& [name, reason] : kObsolete) {
    if (name == key) return reason;
  }
  return {};
}

}  // namespace myxtts
