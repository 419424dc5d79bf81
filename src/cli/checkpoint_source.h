// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/progress.h"
#include "model/spec_check.h"
#include "model/tensor_spec.h"
#include "weights/checkpoint_names.h"
#include "weights/pth_reader.h"

namespace myxtts {

// The tensors of one of our files and where in somebody's .pth file they come from. Nothing is
// copied until write().
class CheckpointSource {
 public:
  explicit CheckpointSource(std::shared_ptr<const PthReader> file) : file_(std::move(file)) {}

  // Throws DataError if `value` is not a tensor, or the name is taken.
  void add(const std::string& name, PickleRef value);

  // The tensors of one part of a state dict, renamed as the public files have them.
  void add_part(PickleRef state_dict, CheckpointPart part);

  bool empty() const { return tensors_.empty(); }
  const PthTensor* find(const std::string& name) const;
  FoundTensors found() const;
  std::uint64_t bytes() const;

  // Streams the tensors of `specs` into a safetensors file, in fp32 (counters in int64, 0 where the
  // source has none). The tensors fit the specs.
  void write(const std::filesystem::path& path, const TensorSpecs& specs, Progress& progress) const;

 private:
  struct Source {
    PickleRef value = 0;
    PthTensor tensor;
  };

  std::shared_ptr<const PthReader> file_;
  std::map<std::string, Source, std::less<>> tensors_;
};

}  // namespace myxtts
