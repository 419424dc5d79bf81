// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <cublasLt.h>

#include "base/error.h"
#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"

namespace myxtts {
namespace {

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // what cuBLAS advises for Hopper
constexpr int kCandidates = 8;
constexpr int kTrials = 3;      // products of one algorithm between two events
constexpr int kRounds = 4;      // after the first, which leaves out
constexpr float kClose = 1.2F;  // what takes more times the least

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

cublasStatus_t run(const Product& product, const Problem& problem,
                   const cublasLtMatmulAlgo_t& algorithm, void* workspace, cudaStream_t stream) {
  const float one = 1;
  const float share = product.added != nullptr ? 1 : 0;
  const void* added = product.added != nullptr ? product.added : product.out;
  return cublasLtMatmul(handle_of_device(), problem.description.get(), &one, product.right.data,
                        problem.a.get(), product.left.data, problem.b.get(), &share, added,
                        problem.out.get(), product.out, problem.out.get(), &algorithm, workspace,
                        kWorkspaceBytes, stream);
}

// Those that need at most `workspace` bytes, best first as cuBLAS sees it.
std::vector<cublasLtMatmulAlgo_t> candidates(const Product& product, const Problem& problem,
                                             int count, std::size_t workspace = kWorkspaceBytes) {
  Preference preference;
  check_blas(cublasLtMatmulPreferenceCreate(preference.out()), "choosing an algorithm");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check_blas(
        cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "choosing an algorithm");
  };
  const void* added = product.added != nullptr ? product.added : product.out;
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(product.right.data));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(product.left.data));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(added));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(product.out));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(count));
  int found_count = 0;
  const auto status = cublasLtMatmulAlgoGetHeuristic(
      handle_of_device(), problem.description.get(), problem.a.get(), problem.b.get(),
      problem.out.get(), problem.out.get(), preference.get(), count, found.data(), &found_count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check_blas(status, "choosing an algorithm");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < found_count; ++i)
    algorithms.push_back(found[static_cast<std::size_t>(i)].algo);
  return algorithms;
}

// Note [Algorithms without a work space]
// Where a product is more than one wave of blocks, cuBLAS's algorithms keep a counter in the work
// space and clear it before: 250 memsets of 4 bytes in a step, which with the time before and after
// them took 1.1 ms on an H200. So it is asked for algorithms without a work space too; trials
// decide.
std::vector<cublasLtMatmulAlgo_t> all_candidates(const Product& product, const Problem& problem) {
  auto algorithms = candidates(product, problem, kCandidates);
  const auto more = candidates(product, problem, kCandidates, 0);
  algorithms.insert(algorithms.end(), more.begin(), more.end());
  return algorithms;
}

// Note [Trying while a graph is recorded]
// A recording is of one stream; this thread may go on working with another one once it says that it
// knows what it does. The memory of the product is real by then, though nothing useful is in it
// yet: see Note [Numbers to try with].
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
  bool is_recording_elsewhere() const { return recording_; }

 private:
  static constexpr const char* kDoing = "trying products";

  bool recording_;
  cudaStream_t stream_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // then the one before
};

// Note [Numbers to try with]
// How much power a product takes depends on its numbers. On zeros an H200 keeps its clocks at 1,980
// MHz; in a training step it is at its limit of 700 W, at 1,450 to 1,700 MHz, and other algorithms
// are the fastest: of a weight's gradient the one that was fastest on zeros took 0.311 ms there,
// another one 0.278. So while a graph is recorded, algorithms are tried on random numbers.
class TrialNumbers {
 public:
  // The product on random numbers, or as it is where there is no memory for them.
  TrialNumbers(const Product& product, cudaStream_t stream) : product_(product), stream_(stream) {
    const std::size_t left = bytes_of(product.left);
    const std::size_t bytes = left + bytes_of(product.right);
    if (cudaMallocAsync(&memory_, bytes, stream) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      memory_ = nullptr;
      return;
    }
    fill(bytes, product.number);
    product_.left.data = memory_;
    product_.right.data = static_cast<const char*>(memory_) + left;
  }
  TrialNumbers(const TrialNumbers&) = delete;
  TrialNumbers& operator=(const TrialNumbers&) = delete;
  ~TrialNumbers() {
    if (memory_ != nullptr) log_failure(cudaFreeAsync(memory_, stream_), kDoing);
  }

  const Product& product() const { return product_; }

 private:
  static constexpr const char* kDoing = "trying products";
  static constexpr std::size_t kPattern = std::size_t{1} << 20;  // numbers that are drawn

  static std::size_t bytes_of(const Matrix& matrix) {
    constexpr std::size_t kAlignment = 256;
    const auto numbers = static_cast<std::size_t>(matrix.rows * matrix.stride);
    return (numbers * sizeof(std::uint16_t) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Sums of four uniform numbers, nearly normal, with a deviation of 0.58.
  static std::vector<std::uint16_t> draw(Number number) {
    std::vector<std::uint16_t> drawn(kPattern);
    std::mt19937_64 random(1);  // NOLINT: the same numbers each time
    for (auto& raw : drawn) {
      const std::uint64_t bits = random();
      float sum = -2;
      for (int i = 0; i < 4; ++i) sum += static_cast<float>((bits >> (16 * i)) & 0xffffU) / 65536;
      raw = number == Number::Bf16 ? c10::BFloat16(sum).x : c10::Half(sum).x;
    }
    return drawn;
  }

  void fill(std::size_t bytes, Number number) {
    static const auto kBf16 = draw(Number::Bf16);
    static const auto kFp16 = draw(Number::Fp16);
    const auto& pattern = number == Number::Bf16 ? kBf16 : kFp16;
    auto* to = static_cast<char*>(memory_);
    std::size_t filled = std::min(bytes, kPattern * sizeof(std::uint16_t));
    check(cudaMemcpyAsync(to, pattern.data(), filled, cudaMemcpyHostToDevice, stream_), kDoing);
    while (filled < bytes) {
      const std::size_t more = std::min(filled, bytes - filled);
      check(cudaMemcpyAsync(to + filled, to, more, cudaMemcpyDeviceToDevice, stream_), kDoing);
      filled += more;
    }
  }

  Product product_;
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

// Of kTrials products.
float milliseconds(const Product& product, const Problem& problem,
                   const cublasLtMatmulAlgo_t& algorithm, void* workspace, cudaStream_t stream) {
  if (run(product, problem, algorithm, workspace, stream) != CUBLAS_STATUS_SUCCESS) return INFINITY;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  const char* doing = "timing a product";
  check(cudaEventCreate(&begin), doing);
  check(cudaEventCreate(&end), doing);
  check(cudaEventRecord(begin, stream), doing);
  for (int i = 0; i < kTrials; ++i) run(product, problem, algorithm, workspace, stream);
  check(cudaEventRecord(end, stream), doing);
  check(cudaEventSynchronize(end), doing);
  float taken = 0;
  check(cudaEventElapsedTime(&taken, begin, end), doing);
  check(cudaEventDestroy(begin), doing);
  check(cudaEventDestroy(end), doing);
  return taken;
}

// Note [Algorithms in turn]
// Clocks change while algorithms are tried, and the first ones find a cool GPU. So in each round
// the algorithms follow one another, and those that were far behind in the first round are left
// out.
std::size_t fastest_of(const Product& product, const Problem& problem,
                       const std::vector<cublasLtMatmulAlgo_t>& algorithms, void* workspace,
                       cudaStream_t stream) {
  const auto time = [&](const cublasLtMatmulAlgo_t& algorithm) {
    return milliseconds(product, problem, algorithm, workspace, stream);
  };
  std::vector<float> first;
  std::ranges::transform(algorithms, std::back_inserter(first), time);
  const float limit = kClose * std::ranges::min(first);
  std::vector<float> sums(algorithms.size(), INFINITY);
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    if (first[i] <= limit) sums[i] = 0;
  }
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      if (sums[i] < INFINITY) sums[i] += time(algorithms[i]);
    }
  }
  return static_cast<std::size_t>(std::ranges::min_element(sums) - sums.begin());
}

cublasLtMatmulAlgo_t fastest(const Product& product, const Problem& problem, void* workspace) {
  const auto algorithms = all_candidates(product, problem);
  if (algorithms.empty()) throw DeviceError("cuBLAS has no algorithm for these matrices.");
  const TrialStream stream;
  if (!stream.is_recording_elsewhere()) {
    return algorithms[fastest_of(product, problem, algorithms, workspace, stream.get())];
  }
  const TrialNumbers numbers(product, stream.get());
  return algorithms[fastest_of(numbers.product(), problem, algorithms, workspace, stream.get())];
}

cublasLtMatmulAlgo_t first_proposal(const Product& product, const Problem& problem) {
  const auto algorithms = candidates(product, problem, 1);
  if (algorithms.empty()) throw DeviceError("cuBLAS has no algorithm for these matrices.");
  return algorithms.front();
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

class AlgorithmCache {
 public:
  cublasLtMatmulAlgo_t find(const Product& product, const Problem& problem, bool tune,
                            void* workspace) {
    const std::lock_guard lock(mutex_);
    const Kind kind = kind_of(product, tune);
    if (const auto found = known_.find(kind); found != known_.end()) return found->second;
    const auto algorithm =
        tune ? fastest(product, problem, workspace) : first_proposal(product, problem);
    known_.emplace(kind, algorithm);
    return algorithm;
  }

 private:
  std::mutex mutex_;
  std::map<Kind, cublasLtMatmulAlgo_t> known_;  // guarded by mutex_
};

}  // namespace

void cuda::multiply(const Product& product, bool tune) {
  static AlgorithmCache cache;
  const Problem problem(product);
  const Workspace workspace(kWorkspaceBytes);
  const auto algorithm = cache.find(product, problem, tune, workspace.data());
  check_blas(run(product, problem, algorithm, workspace.data(), current_stream()),
             "multiplying matrices");
}

}  // namespace myxtts
