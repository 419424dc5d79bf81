// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/cpu_gpt.h"

#include <sys/mman.h>
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21U;

}  // namespace

LargeBuffer::LargeBuffer(std::size_t count, Pages pages) {
  const std::size_t bytes = (count * sizeof(float) / kLargePage + 1) * kLargePage;
  mapped_bytes_ = bytes + kLargePage;  // room to begin at a large page
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) {
    throw DeviceError(
        fmt::format("There is no memory left for {} of the decoder; use a smaller batch or model.",
                    human_size(mapped_bytes_)));
  }
  void* aligned = mapped_;
  std::size_t space = mapped_bytes_;
  data_ = static_cast<float*>(std::align(kLargePage, bytes, aligned, space));
  // Only a wish: where the system does not grant it, small pages do.
  if (pages == Pages::Large) (void)madvise(data_, bytes, MADV_HUGEPAGE);
}

LargeBuffer::~LargeBuffer() {
  (void)munmap(mapped_, mapped_bytes_);
}

namespace {

std::size_t size_of(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

std::size_t head_stride(const GptConfig& config) {
  return round_up(3 * size_of(config.head_width()), kPanel);
}

}  // namespace

// Lays the weights out one after another in the order in which a step reads them.
class CpuGpt::Packer {
 public:
  Packer(const WeightSource& weights, float* target) : weights_(weights), next_(target) {}

  // Column c of the result is column source(c) of a matrix stored [in, columns], or none if that is
  // negative.
  template <typename SourceColumn>
  PanelMatrix matrix(const std::string& name, std::size_t in, std::size_t columns, std::size_t out,
                     const SourceColumn& source) {
    const float* from = weights_(name + ".weight");
    return pack(name, in, out, source,
                [=](std::size_t row, std::size_t column) { return from[row * columns + column]; });
  }

  // The same columns, of a matrix stored [in, out].
  PanelMatrix matrix(const std::string& name, std::size_t in, std::size_t out) {
    return matrix(name, in, out, out,
                  [=](std::size_t c) { return static_cast<std::ptrdiff_t>(c); });
  }

  // Of a matrix stored [out, in].
  PanelMatrix transposed(const std::string& name, std::size_t in, std::size_t out) {
    const float* from = weights_(name + ".weight");
    return pack(
        name, in, out, [](std::size_t c) { return static_cast<std::ptrdiff_t>(c); },
        [=](std::size_t row, std::size_t column) { return from[column * in + row]; });
  }

  NormView norm(const std::string& name, std::size_t width) {
    return {copy(weights_(name + ".weight"), width), copy(weights_(name + ".bias"), width)};
  }

 private:
  template <typename SourceColumn, typename Value>
  PanelMatrix pack(const std::string& name, std::size_t in, std::size_t out,
                   const SourceColumn& source, const Value& value) {
    const std::size_t panels = round_up(out, kPanel) / kPanel;
    float* bias = take(panels * kPanel);
    float* target = take(panels * in * kPanel);
    const float* from_bias = weights_(name + ".bias");
    for (std::size_t c = 0; c < out; ++c) {
      if (source(c) >= 0) bias[c] = from_bias[source(c)];
    }
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const std::size_t first = panel * kPanel;
      const std::size_t last = std::min(out, first + kPanel);
      for (std::size_t row = 0; row < in; ++row) {
        float* to = target + (panel * in + row) * kPanel;
        for (std::size_t c = first; c < last; ++c) {
          const std::ptrdiff_t column = source(c);
          if (column >= 0) to[c - first] = value(row, static_cast<std::size_t>(column));
        }
      }
    }
    return {target, bias, in, panels};
  }

  const float* copy(const float* from, std::size_t count) {
    float* target = take(round_up(count, kKeyBlock));
    std::copy_n(from, count, target);
    return target;
  }

  float* take(std::size_t count) {
    float* taken = next_;
    next_ += count;
    return taken;
  }

  const WeightSource& weights_;
  float* next_;
};

std::size_t CpuGpt::packed_size(const GptConfig& config) {
  const std::size_t width = round_up(size_of(config.width), kPanel);
  const std::size_t qkv = size_of(config.heads) * head_stride(config);
  const std::size_t outs = qkv + width + 4 * width + width;
  const std::size_t weights =
      (qkv + width + 4 * width) * size_of(config.width) + width * 4 * size_of(config.width);
  const std::size_t head = round_up(size_of(config.audio_ids), kPanel);
  return size_of(config.layers) * (weights + outs + 4 * width) + 4 * width +
         head * (size_of(config.width) + 1);
}

CpuGpt::CpuGpt(const GptConfig& config, const WeightSource& weights, std::size_t rows,
               std::size_t positions, std::size_t threads)
    : width_(size_of(config.width)),
      heads_(size_of(config.heads)),
      head_width_(size_of(config.head_width())),
      head_stride_(head_stride(config)),
      rows_(rows),
      positions_(positions),
      weights_(packed_size(config), Pages::Large),
      key_size_(round_up(positions, kKeyBlock) * head_width_),
      value_size_(positions * round_up(head_width_, kKeyBlock)),
      cache_(rows * size_of(config.layers) * heads_ * (key_size_ + value_size_), Pages::OnDemand),
      threads_(std::clamp<std::size_t>(threads, 1, heads_)) {
  Packer packer(weights, weights_.data());
  const auto source = [this](std::size_t column) -> std::ptrdiff_t {
    const std::size_t inside = column % head_stride_;
    if (inside >= 3 * head_width_) return -1;
    return static_cast<std::ptrdiff_t>(inside / head_width_ * width_ +
                                       column / head_stride_ * head_width_ + inside % head_width_);
  };
  for (std::size_t i = 0; i < size_of(config.layers); ++i) {
    const auto name = fmt::format("gpt.h.{}.", i);
    Layer layer;
    layer.before_attention = packer.norm(name + "ln_1", width_);
    layer.qkv =
        packer.matrix(name + "attn.c_attn", width_, 3 * width_, heads_ * head_stride_, source);
    layer.attention_out = packer.matrix(name + "attn.c_proj", width_, width_);
    layer.before_mlp = packer.norm(name + "ln_2", width_);
    layer.mlp_in = packer.matrix(name + "mlp.c_fc", width_, 4 * width_);
    layer.mlp_out = packer.matrix(name + "mlp.c_proj", 4 * width_, width_);
    layers_.push_back(layer);
  }
  last_layer_norm_ = packer.norm("gpt.ln_f", width_);
  final_norm_ = packer.norm("final_norm", width_);
  head_ = packer.transposed("mel_head", width_, size_of(config.audio_ids));
  x_ = scratch(width_);
  qkv_ = scratch(heads_ * head_stride_);
  mixed_ = scratch(width_);
  hidden_ = scratch(4 * width_);
  states_ = scratch(width_);
  logits_ = scratch(size_of(config.audio_ids));
  for (std::size_t member = 0; member < threads_.members(); ++member) {
    members_.push_back({scratch(width_), std::vector<float>(round_up(positions, kKeyBlock)),
                        std::vector<float>(round_up(head_width_, kKeyBlock))});
  }
  threads_.start();
}

Rows CpuGpt::scratch(std::size_t width) {
  const std::size_t stride = round_up(width, kPanel);
  scratch_.emplace_back(rows_ * stride);
  return {scratch_.back().data(), stride, rows_};
}

HeadCache CpuGpt::cache(std::size_t row, std::size_t layer, std::size_t head) const {
  const std::size_t index = (row * layers_.size() + layer) * heads_ + head;
  float* keys = cache_.data() + index * (key_size_ + value_size_);
  return {keys, keys + key_size_, head_width_};
}

void CpuGpt::write_prefix(std::size_t row, std::size_t layer, const float* keys,
                          const float* values, std::size_t count) {
  MYXTTS_CHECK(row < rows_ && count <= positions_,
               "a prefix of {} positions does not fit into the cache", count);
  for (std::size_t head = 0; head < heads_; ++head) {
    const HeadCache target = cache(row, layer, head);
    for (std::size_t position = 0; position < count; ++position) {
      const std::size_t from = position * width_ + head * head_width_;
      store(target, position, keys + from, values + from);
    }
  }
}

void CpuGpt::step(std::span<const Input> inputs) {
  MYXTTS_CHECK(inputs.size() <= rows_, "{} rows for a cache of {}", inputs.size(), rows_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    MYXTTS_CHECK(inputs[i].position < positions_, "position {} is beyond the cache",
                 inputs[i].position);
    std::copy_n(inputs[i].embedding, width_, at(x_, i));
  }
  x_.count = inputs.size();
  threads_.run([&](std::size_t member) { run_layers(member, inputs); });
}

void CpuGpt::finish(std::span<const float* const> hidden) {
  for (std::size_t i = 0; i < hidden.size(); ++i) std::copy_n(hidden[i], width_, at(x_, i));
  x_.count = hidden.size();
  threads_.run([&](std::size_t member) { run_end(member); });
}

void CpuGpt::run_layers(std::size_t member, std::span<const Input> inputs) {
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    attention(member, layer, inputs);
    mlp(member, layers_[layer]);
  }
  run_end(member);
}

// Each member has its own heads from q, k and v to their mix, so it waits for nobody between.
void CpuGpt::attention(std::size_t member, std::size_t layer, std::span<const Input> inputs) {
  const Layer& weights = layers_[layer];
  const Rows x = normalised(member, weights.before_attention);
  const Share heads = share_of(heads_, member, threads_.members());
  const std::size_t panels = head_stride_ / kPanel;
  multiply(weights.qkv, x, qkv_, heads.first * panels, heads.last * panels, Result::Write);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t head = heads.first; head < heads.last; ++head) {
      attend_head(member, layer, head, i, inputs[i]);
    }
  }
  threads_.barrier();
  multiply_share(member, weights.attention_out, {mixed_.data, mixed_.stride, x.count}, x_,
                 Result::Add);
  threads_.barrier();
}

void CpuGpt::attend_head(std::size_t member, std::size_t layer, std::size_t head, std::size_t i,
                         const Input& input) {
  float* q = at(qkv_, i) + head * head_stride_;
  const HeadCache own = cache(input.row, layer, head);
  store(own, input.position, q + head_width_, q + 2 * head_width_);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_width_));
  for (std::size_t c = 0; c < head_width_; ++c) q[c] *= scale;
  Member& space = members_[member];
  attend(own, q, input.position + 1, space.scores.data(), space.mixed.data());
  std::copy_n(space.mixed.data(), head_width_, at(mixed_, i) + head * head_width_);
}

void CpuGpt::mlp(std::size_t member, const Layer& layer) {
  const Rows x = normalised(member, layer.before_mlp);
  multiply_share(member, layer.mlp_in, x, hidden_, Result::Write);
  const Share panels = share_of(layer.mlp_in.panel_count, member, threads_.members());
  for (std::size_t i = 0; i < x.count; ++i) {
    gelu(at(hidden_, i) + panels.first * kPanel, (panels.last - panels.first) * kPanel);
  }
  threads_.barrier();
  multiply_share(member, layer.mlp_out, {hidden_.data, hidden_.stride, x.count}, x_, Result::Add);
  threads_.barrier();
}

void CpuGpt::run_end(std::size_t member) {
  const Rows x = normalised(member, last_layer_norm_);
  for (std::size_t i = 0; i < x.count; ++i) {
    normalise(at(x, i), at(x, i), final_norm_.scale, final_norm_.shift, width_);
    if (member == 0) std::copy_n(at(x, i), width_, at(states_, i));
  }
  multiply_share(member, head_, x, logits_, Result::Write);
}

// Every member norms all of x for itself: that is less work than waiting for another.
Rows CpuGpt::normalised(std::size_t member, const NormView& norm) {
  Rows rows = members_[member].normalised;
  rows.count = x_.count;
  for (std::size_t i = 0; i < rows.count; ++i) {
    normalise(at(x_, i), at(rows, i), norm.scale, norm.shift, width_);
  }
  return rows;
}

void CpuGpt::multiply_share(std::size_t member, const PanelMatrix& matrix, const Rows& x,
                            const Rows& y, Result result) {
  const Share panels = share_of(matrix.panel_count, member, threads_.members());
  multiply(matrix, x, y, panels.first, panels.last, result);
}

void CpuGpt::copy_row(std::size_t from, std::size_t to, std::size_t positions) {
  const std::size_t keys = round_up(positions, kKeyBlock) * head_width_;
  const std::size_t values = positions * round_up(head_width_, kKeyBlock);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    for (std::size_t head = 0; head < heads_; ++head) {
      const HeadCache source = cache(from, layer, head);
      const HeadCache target = cache(to, layer, head);
      std::copy_n(source.keys, keys, target.keys);
      std::copy_n(source.values, values, target.values);
    }
  }
}

}  // namespace myxtts
