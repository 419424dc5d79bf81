// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeindex>
#include <typeinfo>
#include <vector>

namespace myxtts {

// Note [Kernels of the plugin]
// An operation that has kernels of our own names them in a struct of functions on plain pointers,
// its table. The CUDA plugin registers its table of each kind while it is opened; operations look
// for it when they are given tensors on a GPU, and compute the plain expression where there is no
// table or where a shape does not fit it.

// The elements of the tensors that a kernel is given.
enum class Number { Fp32, Bf16, Fp16 };

void register_cuda_kernels(const std::type_info& kind, const void* table);
const void* find_cuda_kernels(const std::type_info& kind);  // null: none

template <typename Table>
const Table* cuda_kernels() {
  return static_cast<const Table*>(find_cuda_kernels(typeid(Table)));
}

// How the plugin makes a table known: an object of this type for the life of the process.
template <typename Table>
struct CudaKernelRegistration {
  explicit CudaKernelRegistration(const Table& table) {
    static const Table kept = table;
    register_cuda_kernels(typeid(Table), &kept);
  }
};

// While one lives on this thread, operations that begin there compute their plain expressions in
// place of the kernels named, or of all: to compare results and times.
class PlainExpressions {
 public:
  PlainExpressions();  // of all
  explicit PlainExpressions(std::vector<std::type_index> kinds);
  PlainExpressions(const PlainExpressions&) = delete;
  PlainExpressions& operator=(const PlainExpressions&) = delete;
  ~PlainExpressions();

  bool covers(const std::type_info& kind) const;

 private:
  const PlainExpressions* before_;
  std::vector<std::type_index> kinds_;  // empty: all
};

}  // namespace myxtts
