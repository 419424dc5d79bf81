// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace myxtts {

// What is trained on, and how clips travel from disk to the model device. Limits and sentences of
// the members stand in config/fields.cpp; an empty optional means that the program decides or that
// the thing is not asked for.
struct DataConfig {
  std::optional<std::int64_t> data_gpu = {};   // in nvidia-smi's order
  std::optional<std::int64_t> model_gpu = {};  // in nvidia-smi's order
  std::optional<std::int64_t> num_workers = {};
  std::int64_t pipeline_buffer_size = 50;                 // batches
  std::optional<std::int64_t> prefetch_buffer_size = {};  // slots
  double model_start_delay = 2.0;                         // seconds
  std::optional<std::filesystem::path> train_data = {};
  std::optional<std::filesystem::path> val_data = {};
  std::string language = "en";
  bool cache_dataset = false;

  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

}  // namespace myxtts
