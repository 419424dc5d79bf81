// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/tensor_spec.h"
#include "weights/safetensors.h"

namespace myxtts::test {

// Numbers for the tensors of a file that differ from tensor to tensor.
class RandomTensors {
 public:
  void add(const TensorSpecs& specs, const std::string& prefix = "") {
    for (const TensorSpec& spec : specs) {
      const Dtype dtype = spec.role == TensorRole::Counter ? Dtype::I64 : Dtype::F32;
      auto& bytes = storage_[prefix + spec.name];
      bytes.resize(static_cast<std::size_t>(*dense_bytes(dtype, spec.shape)));
      for (std::byte& byte : bytes) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state_ >> 59);  // small, so that no float is a NaN
      }
      views_[prefix + spec.name] = {dtype, spec.shape, bytes};
    }
  }

  TensorViews& views() { return views_; }

 private:
  std::uint64_t state_ = 1;
  std::map<std::string, std::vector<std::byte>> storage_;
  TensorViews views_;
};

inline bool equal(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

}  // namespace myxtts::test
