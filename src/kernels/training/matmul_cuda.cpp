// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/cuda/check.h"
#include "device/cuda/current_work.h"
#include "kernels/training/blas_objects.cuh"
#include "kernels/training/matmul.h"

namespace myxtts {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what cuBLAS advises for Hopper
constexpr int kCandidates = 8;
constexpr int kTrials = 4;      // products of one way between two events
constexpr int kRounds = 4;      // of the ways that are left after the first
constexpr float kClose = 1.1F;  // times the fastest of the first round: worth another look

void check_blas(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(
      fmt::format("cuBLAS failed while {}: {}.", doing, cublasLtGetStatusString(status)));
}

cudaDataType_t data_type(Number number) {
  MYXTTS_CHECK(number != Number::Fp32, "products with epilogues are of half precision");
  return number == Number::Bf16 ? CUDA_R_16BF : CUDA_R_16F;
}

cublasLtEpilogue_t epilogue_of(const Product& product) {
  if (product.before_gelu != nullptr) return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  if (product.gelu_of != nullptr) return CUBLASLT_EPILOGUE_DGELU;
  if (product.bias != nullptr) return CUBLASLT_EPILOGUE_BIAS;
  if (product.right_sums != nullptr) return CUBLASLT_EPILOGUE_BGRADA;
  if (product.left_sums != nullptr) return CUBLASLT_EPILOGUE_BGRADB;
  return CUBLASLT_EPILOGUE_DEFAULT;
}

// The vector that the epilogue reads or writes.
const void* vector_of(const Product& product) {
  for (const void* vector : {product.bias, static_cast<const void*>(product.right_sums),
                             static_cast<const void*>(product.left_sums)}) {
    if (vector != nullptr) return vector;
  }
  return nullptr;
}

std::uint32_t alignment_of(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  return address == 0 ? 256U : std::min(256U, 1U << std::min(8, std::countr_zero(address)));
}

// Note [Rows for columns]
// cuBLAS counts matrices column after column. The same memory read so is the transpose, and
// outᵀ = rightᵀ · leftᵀ, so `right` is cuBLAS's A and `left` its B.
struct Problem {
  explicit Problem(const Product& product) {
    const auto type = data_type(product.number);
    const auto make = [type](Layout& layout, std::int64_t rows, std::int64_t columns,
                             std::int64_t stride) {
      check_blas(cublasLtMatrixLayoutCreate(layout.out(), type, static_cast<std::uint64_t>(columns),
                                            static_cast<std::uint64_t>(rows), stride),
                 "describing a matrix");
    };
    make(a, product.right.rows, product.right.columns, product.right.stride);
    make(b, product.left.rows, product.left.columns, product.left.stride);
    make(out, product.left.height(), product.right.breadth(), product.out_stride);

    check_blas(cublasLtMatmulDescCreate(description.out(), CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "describing a product");
    set(CUBLASLT_MATMUL_DESC_TRANSA, product.right.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, product.left.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product));
    if (const void* vector = vector_of(product)) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    }
    if (const void* aux = product.gelu_of != nullptr ? product.gelu_of : product.before_gelu) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.out_stride);
    }
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_blas(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value),
               "describing a product");
  }

  Layout a;
  Layout b;
  Layout out;
  Description description;
};

// cuBLAS's handles are bound to a device and safe from any thread.
cublasLtHandle_t handle_of_device() {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  int gpu = 0;
  check(cudaGetDevice(&gpu), "asking for the current GPU");
  const std::lock_guard lock(mutex);
  auto& handle = handles[gpu];
  if (handle == nullptr) check_blas(cublasLtCreate(&handle), "starting");
  return handle;
}

cublasStatus_t run(const Product& product, const Problem& problem, const cublasLtMatmulAlgo_t& way,
                   void* workspace, cudaStream_t stream) {
  const float one = 1;
  const float share = product.added != nullptr ? 1 : 0;
  const void* added = product.added != nullptr ? product.added : product.out;
  return cublasLtMatmul(handle_of_device(), problem.description.get(), &one, product.right.data,
                        problem.a.get(), product.left.data, problem.b.get(), &share, added,
                        problem.out.get(), product.out, problem.out.get(), &way, workspace,
                        kWorkspaceBytes, stream);
}

std::vector<cublasLtMatmulAlgo_t> candidates(const Product& product, const Problem& problem,
                                             int count) {
  Preference preference;
  check_blas(cublasLtMatmulPreferenceCreate(preference.out()), "choosing a way");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_blas(
        cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "choosing a way");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  const void* added = product.added != nullptr ? product.added : product.out;
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(product.right.data));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(product.left.data));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(added));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(product.out));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(count));
  int found_count = 0;
  check_blas(
      cublasLtMatmulAlgoGetHeuristic(handle_of_device(), problem.description.get(), problem.a.get(),
                                     problem.b.get(), problem.out.get(), problem.out.get(),
                                     preference.get(), count, found.data(), &found_count),
      "choosing a way to multiply");
  if (found_count == 0) throw DeviceError("cuBLAS knows no way to multiply these matrices.");
  std::vector<cublasLtMatmulAlgo_t> ways;
  for (int i = 0; i < found_count; ++i) ways.push_back(found[static_cast<std::size_t>(i)].algo);
  return ways;
}

// Note [Trying while a graph is recorded]
// A recording is of one stream; this thread may go on working with another one once it says that it
// knows what it does. The memory of the product is real by then, though nothing useful is in it
// yet, so the product can be tried on it.
class TrialStream {
 public:
  TrialStream() : recording_(is_recording(current_stream())), stream_(current_stream()) {
    if (!recording_) return;
    check(cudaThreadExchangeStreamCaptureMode(&mode_), kDoing);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), kDoing);
  }
  TrialStream(const TrialStream&) = delete;
  TrialStream& operator=(const TrialStream&) = delete;
  ~TrialStream() {
    if (!recording_) return;
    log_failure(cudaStreamDestroy(stream_), kDoing);
    log_failure(cudaThreadExchangeStreamCaptureMode(&mode_), kDoing);
  }

  cudaStream_t get() const { return stream_; }

 private:
  static constexpr const char* kDoing = "trying products";

  bool recording_;
  cudaStream_t stream_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // then the one before
};

// Of kTrials products.
float milliseconds(const Product& product, const Problem& problem, const cublasLtMatmulAlgo_t& way,
                   void* workspace, cudaStream_t stream) {
  if (run(product, problem, way, workspace, stream) != CUBLAS_STATUS_SUCCESS) return INFINITY;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  const char* doing = "timing a product";
  check(cudaEventCreate(&begin), doing);
  check(cudaEventCreate(&end), doing);
  check(cudaEventRecord(begin, stream), doing);
  for (int i = 0; i < kTrials; ++i) run(product, problem, way, workspace, stream);
  check(cudaEventRecord(end, stream), doing);
  check(cudaEventSynchronize(end), doing);
  float taken = 0;
  check(cudaEventElapsedTime(&taken, begin, end), doing);
  check(cudaEventDestroy(begin), doing);
  check(cudaEventDestroy(end), doing);
  return taken;
}

// Note [Ways in turn]
// One look at each way chose one that was 6 % slower than another every other start: clocks and the
// work of other processes change while ways are tried. So those that were nearly the fastest are
// tried again, one after the other in each round, and the least time of each counts.
cublasLtMatmulAlgo_t fastest(const Product& product, const Problem& problem, void* workspace) {
  const auto ways = candidates(product, problem, kCandidates);
  const TrialStream stream;
  const auto time = [&](const cublasLtMatmulAlgo_t& way) {
    return milliseconds(product, problem, way, workspace, stream.get());
  };
  std::vector<float> least;
  std::ranges::transform(ways, std::back_inserter(least), time);
  const float limit = kClose * std::ranges::min(least);
  for (int round = 1; round < kRounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (least[i] <= limit) least[i] = std::min(least[i], time(ways[i]));
    }
  }
  return ways[static_cast<std::size_t>(std::ranges::min_element(least) - least.begin())];
}

// What products of one kind have in common.
using Kind = std::array<std::int64_t, 17>;

Kind kind_of(const Product& product, bool tuned) {
  int gpu = 0;
  check(cudaGetDevice(&gpu), "asking for the current GPU");
  return {gpu,
          tuned,
          static_cast<std::int64_t>(product.number),
          epilogue_of(product),
          product.left.rows,
          product.left.columns,
          product.left.stride,
          product.left.transposed,
          product.right.rows,
          product.right.columns,
          product.right.stride,
          product.right.transposed,
          product.out_stride,
          alignment_of(product.left.data),
          alignment_of(product.right.data),
          alignment_of(product.out),
          product.added != nullptr ? alignment_of(product.added) : 0};
}

class Ways {
 public:
  cublasLtMatmulAlgo_t find(const Product& product, const Problem& problem, bool tune,
                            void* workspace) {
    const std::lock_guard lock(mutex_);
    const Kind kind = kind_of(product, tune);
    if (const auto found = known_.find(kind); found != known_.end()) return found->second;
    const auto way =
        tune ? fastest(product, problem, workspace) : candidates(product, problem, 1).front();
    known_.emplace(kind, way);
    return way;
  }

 private:
  std::mutex mutex_;
  std::map<Kind, cublasLtMatmulAlgo_t> known_;  // guarded by mutex_
};

void multiply(const Product& product, bool tune) {
  static Ways ways;
  const Problem problem(product);
  const Workspace workspace(kWorkspaceBytes);
  const auto way = ways.find(product, problem, tune, workspace.data());
  check_blas(run(product, problem, way, workspace.data(), current_stream()),
             "multiplying matrices");
}

const CudaKernelRegistration<MatmulKernels> kRegistered({.multiply = multiply});

}  // namespace
}  // namespace myxtts
