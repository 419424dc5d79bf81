// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/stream.h"

// What the CUDA plugin computes for the rest of the program: functions on plain pointers, each
// declared once and collected in one table. See Note [Kernels of the plugin] below.

namespace myxtts {

// The elements of the tensors that a kernel is given.
enum class Number { Fp32, Bf16, Fp16 };

// A matrix on the current GPU, row after row.
struct Matrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;  // from row to row, in numbers
  bool transposed = false;  // it enters the product as its transpose

  std::int64_t height() const { return transposed ? columns : rows; }
  std::int64_t breadth() const { return transposed ? rows : columns; }
};

// out = left · right, and what the product's kernel does besides while it has the numbers at hand.
// At most one of the three groups below `added`.
struct Product {
  Number number = Number::Bf16;  // half precision; sums are fp32
  Matrix left;
  Matrix right;
  void* out = nullptr;
  std::int64_t out_stride = 0;

  // Like out, and not the same memory: out = left · right + added. Null: nothing is. Not with gelu.
  const void* added = nullptr;

  // out = left · right + bias, or gelu of that, with what was before gelu kept. Tanh's gelu.
  const void* bias = nullptr;   // [columns of out]
  void* before_gelu = nullptr;  // like out

  // out = (left · right) · gelu'(gelu_of). Tanh's gelu.
  const void* gelu_of = nullptr;  // like out

  // The sums of right over its rows, and of left over its columns: a bias's gradient beside a
  // weight's.
  void* right_sums = nullptr;  // [columns of out]
  void* left_sums = nullptr;   // [rows of out]
};

// Back through tanh's gelu and the bias before it: rows of `width` numbers on the current GPU, one
// after another, in its current stream.
struct GeluBackward {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;        // a multiple of kGeluWidthMultiple
  const void* before = nullptr;  // [rows, width] what gelu was taken of
  void* slopes = nullptr;        // [rows, width] of gelu's result; replaced by those of `before`
  void* d_bias = nullptr;        // [width] their sums over rows; null: not wanted
};

// The sums of columns over rows, where the derivative is taken inside a matrix product.
struct ColumnTotals {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;         // a multiple of kGeluWidthMultiple
  const void* numbers = nullptr;  // [rows, width]
  void* totals = nullptr;         // [width]
};

inline constexpr std::int64_t kGeluWidthMultiple = 8;

// Three matrices side by side, stretch by stretch of their columns, and the sums of the columns: on
// the current GPU, in its current stream.
struct Join {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;     // of each part, a multiple of `stretch`
  std::int64_t stretch = 0;   // columns of one part that stay together, a multiple of kJoinMultiple
  const void* parts[3] = {};  // [rows, width] each
  void* joined = nullptr;     // [rows, width / stretch, 3, stretch]
  void* sums = nullptr;       // [3 · width] of `joined` over rows; null: not wanted
};

inline constexpr std::int64_t kJoinMultiple = 8;

// Layer norm (kernels/ops/residual_norm.h): pointers to rows of `width` numbers on the current GPU,
// in its current stream.
struct NormForward {
  Number number = Number::Fp32;
  std::int64_t rows = 0;  // of the output
  std::int64_t width = 0;
  const void* x = nullptr;
  const void* branch = nullptr;            // added to x with dropout; null: nothing is
  const std::int64_t* selected = nullptr;  // [rows] rows of x; null: all of them
  const void* weight = nullptr;            // [width]
  const void* bias = nullptr;              // [width]
  double epsilon = 0;
  double dropout = 0;
  void* sum = nullptr;           // [rows, width] where there is a branch
  void* normed = nullptr;        // [rows, width]
  float* mean = nullptr;         // [rows]
  float* inverse = nullptr;      // [rows] of the deviation
  std::uint8_t* kept = nullptr;  // [rows, width / 8] bits, where there is dropout
};

struct NormBackward {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const void* d_normed = nullptr;          // [rows, width]
  const void* d_sum = nullptr;             // [rows, width]; null: 0
  const void* sum = nullptr;               // what was normalised
  const std::int64_t* selected = nullptr;  // [rows] where rows of `sum` and `dx` are; null: all
  const void* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  const std::uint8_t* kept = nullptr;  // null: no dropout
  double dropout = 0;
  void* dx = nullptr;
  void* d_branch = nullptr;  // null where it equals dx
  void* d_weight = nullptr;  // null: not wanted
  void* d_bias = nullptr;
  void* d_branch_sums = nullptr;  // [width] over rows, of d_branch, or of dx where that is null
};

// What the kernels ask of a width.
inline constexpr std::int64_t kNormWidthMultiple = 8;
inline constexpr std::int64_t kNormWidest = 2048;

// Group norm (kernels/ops/group_norm.h): [clips, frames, width] on the current GPU.
struct GroupNormShape {
  Number number = Number::Fp32;
  std::int64_t clips = 0;
  std::int64_t frames = 0;
  std::int64_t width = 0;
  std::int64_t groups = 0;
};

struct GroupNormForward {
  GroupNormShape shape;
  const void* x = nullptr;
  const void* weight = nullptr;  // [width]
  const void* bias = nullptr;    // [width]
  double epsilon = 0;
  void* y = nullptr;
  float* mean = nullptr;     // [clips, groups]
  float* inverse = nullptr;  // [clips, groups] of the deviation
};

struct GroupNormBackward {
  GroupNormShape shape;
  const void* dy = nullptr;
  const void* x = nullptr;
  const void* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  void* dx = nullptr;
  void* d_weight = nullptr;  // null: not wanted
  void* d_bias = nullptr;
};

// What the kernels ask of a shape.
inline constexpr std::int64_t kGroupWidthMultiple = 8;
inline constexpr std::int64_t kMostGroups = 64;
inline constexpr std::int64_t kGroupNormWidest = 4096;

// Cross entropy (kernels/ops/cross_entropy.h): rows of logits on the current GPU, each at a
// multiple of kLogitsMultiple numbers.
struct LogitRows {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t ids = 0;
  std::int64_t stride = 0;
  const void* logits = nullptr;           // [rows, ids]
  const std::int64_t* targets = nullptr;  // [rows], negative: ignored
};

inline constexpr std::int64_t kLogitsMultiple = 8;

// The embedding of packed rows (kernels/ops/packed_embedding.h), on the current GPU: where the rows
// of text ids, codes and latents are, and of their positions; or of the gradients.
struct EmbeddingTables {
  void* text = nullptr;
  void* codes = nullptr;
  void* latents = nullptr;
  void* text_positions = nullptr;
  void* code_positions = nullptr;
};

struct EmbeddingShape {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t text_ids = 0;
  std::int64_t code_ids = 0;
  std::int64_t latent_rows = 0;
  std::int64_t text_positions = 0;
  std::int64_t code_positions = 0;
  const std::int64_t* tokens = nullptr;     // [rows]
  const std::int64_t* positions = nullptr;  // [rows]
};

inline constexpr std::int64_t kEmbeddingMultiple = 8;

// Causal attention within the segments of packed rows (kernels/attention/attention.h), on the
// current GPU, in its current stream. Nothing is added with atomics, and nothing but `ends` says
// where segments lie, so that a graph may hold it.
struct RowAttention {
  Number number = Number::Bf16;  // or Fp16
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t segments = 0;
  std::int64_t longest = 0;            // at least the length of the longest segment
  const std::int32_t* ends = nullptr;  // [segments + 1] from 0 to `rows`
  const void* qkv = nullptr;           // [rows, 3, heads, kHeadWidth]
  double dropout = 0;
  void* mixed = nullptr;          // [rows, heads, kHeadWidth]
  float* log_sums = nullptr;      // [heads, rows] of 2 to the power of scores, to the base of 2
  std::uint32_t* kept = nullptr;  // [kept_words()], where there is dropout
};

struct RowAttentionGradients {
  const void* d_mixed = nullptr;  // [rows, heads, kHeadWidth]
  void* d_qkv = nullptr;          // [rows, 3, heads, kHeadWidth]
  void* d_bias = nullptr;         // [3, heads, kHeadWidth] sums of d_qkv; null: not wanted
};

inline constexpr std::int64_t kHeadWidth = 64;

class AdamW;
struct AdamWRule;
class CodeDecoder;
struct CodeDecoderOptions;
struct CodeDecoderWeights;
struct SoundMelShape;
struct SoundMelView;
struct SoundPiece;

// Note [Kernels of the plugin]
// These functions are defined in the plugin alone, in the *_cuda files. kernels/plugin_entry.cpp
// puts them into the table that the plugin hands over when it is opened. Operations look into the
// table when they are given tensors on a GPU, and compute the plain expression where there is no
// plugin or where a shape does not fit.
namespace cuda {

// `tune`: may try several algorithms at the first product of its kind and take the fastest, so that
// rounding may differ from one start of the program to the next.
void multiply(const Product& product, bool tune);

void gelu_backward(const GeluBackward& call);
void sum_columns(const ColumnTotals& call);
void join(const Join& call);

void norm_forward(const NormForward& call);
void norm_backward(const NormBackward& call);
void group_norm_forward(const GroupNormForward& call);
void group_norm_backward(const GroupNormBackward& call);

// losses and log_sums [rows]
void cross_entropy_forward(const LogitRows& rows, float* losses, float* log_sums);
// d_losses, log_sums [rows] -> d_logits with the rows' stride
void cross_entropy_backward(const LogitRows& rows, const float* d_losses, const float* log_sums,
                            void* d_logits);

// out [rows, width]; kept [rows, width / 8] bits, null: no dropout.
void embedding_forward(const EmbeddingShape& shape, const EmbeddingTables& tables, double dropout,
                       void* out, std::uint8_t* kept);
// Every row of each gradient is written; null ones are not wanted.
void embedding_backward(const EmbeddingShape& shape, const void* d_out, const std::uint8_t* kept,
                        double dropout, const EmbeddingTables& gradients);

bool row_attention_fits_gpu();  // the current one
std::int64_t row_attention_kept_words(const RowAttention& call);
void row_attention_forward(const RowAttention& call);
void row_attention_backward(const RowAttention& call, const RowAttentionGradients& gradients);

std::unique_ptr<AdamW> make_adamw(const AdamWRule& rule);
std::unique_ptr<CodeDecoder> make_code_decoder(const CodeDecoderOptions& options,
                                               const CodeDecoderWeights& weights);
void sound_mel(const SoundMelView& tables, const SoundMelShape& shape,
               std::span<const SoundPiece> pieces, float* out, const Stream& stream);

}  // namespace cuda

struct CudaKernels {
  decltype(&cuda::multiply) multiply;
  decltype(&cuda::gelu_backward) gelu_backward;
  decltype(&cuda::sum_columns) sum_columns;
  decltype(&cuda::join) join;
  decltype(&cuda::norm_forward) norm_forward;
  decltype(&cuda::norm_backward) norm_backward;
  decltype(&cuda::group_norm_forward) group_norm_forward;
  decltype(&cuda::group_norm_backward) group_norm_backward;
  decltype(&cuda::cross_entropy_forward) cross_entropy_forward;
  decltype(&cuda::cross_entropy_backward) cross_entropy_backward;
  decltype(&cuda::embedding_forward) embedding_forward;
  decltype(&cuda::embedding_backward) embedding_backward;
  decltype(&cuda::row_attention_fits_gpu) row_attention_fits_gpu;
  decltype(&cuda::row_attention_kept_words) row_attention_kept_words;
  decltype(&cuda::row_attention_forward) row_attention_forward;
  decltype(&cuda::row_attention_backward) row_attention_backward;
  decltype(&cuda::make_adamw) make_adamw;
  decltype(&cuda::make_code_decoder) make_code_decoder;
  decltype(&cuda::sound_mel) sound_mel;
};

// The operations whose kernels can be left out.
enum class Operation { Matmul, Gelu, Join, Norm, GroupNorm, CrossEntropy, Embedding, RowAttention };

// The table for an operation that is given tensors on a GPU; null where no plugin is open, or where
// plain expressions are wanted. Never opens the plugin.
const CudaKernels* cuda_kernels(Operation operation);

// While one lives on this thread, operations that begin there compute their plain expressions in
// place of the kernels named, or of all: to compare results and times.
class PlainExpressions {
 public:
  explicit PlainExpressions(std::vector<Operation> operations = {});  // empty: all
  PlainExpressions(const PlainExpressions&) = delete;
  PlainExpressions& operator=(const PlainExpressions&) = delete;
  ~PlainExpressions();

  bool covers(Operation operation) const;

 private:
  const PlainExpressions* before_;
  std::vector<Operation> operations_;
};

}  // namespace myxtts
