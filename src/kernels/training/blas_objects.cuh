// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

namespace myxtts {

// An object of cuBLAS that ends with its scope.
template <typename T, cublasStatus_t (*kDestroy)(T)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { kDestroy(object_); }
  T* out() { return &object_; }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
};

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

}  // namespace myxtts
