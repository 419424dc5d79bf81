// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <deque>
#include <memory>

#include "base/error.h"
#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/decode/code_decoder.h"
#include "kernels/decode/decode_kernels.cuh"
#include "kernels/decode/step_maker.cuh"

namespace myxtts {
namespace {

void require_sizes(const CodeDecoderShape& shape) {
  MYXTTS_CHECK(shape.width % 8 == 0 && shape.head_width() % 8 == 0 && shape.head_width() <= 256,
               "heads of {} numbers cannot be decoded on a GPU", shape.head_width());
}

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

// The tables of all rows and the memory behind them.
class Rows {
 public:
  Rows(const CodeDecoderShape& shape, cudaStream_t stream)
      : rows_(shape.rows),
        seen_(shape.rows * shape.ids),
        logits_(shape.rows * shape.ids),
        latents_(shape.rows * shape.most_codes * shape.width),
        host_rows_(shape.rows, CudaArray<HostRow>::Where::MappedHost),
        codes_(shape.rows * shape.most_codes, CudaArray<std::int32_t>::Where::MappedHost) {
    tables = {.rows = rows_.get(),
              .seen = seen_.get(),
              .logits = logits_.get(),
              .latents = latents_.get(),
              .host_rows = host_rows_.get(),
              .codes = codes_.get(),
              .row_count = static_cast<std::int32_t>(shape.rows),
              .ids = static_cast<std::int32_t>(shape.ids),
              .most_codes = static_cast<std::int32_t>(shape.most_codes),
              .stop = static_cast<std::int32_t>(shape.stop)};
    const std::vector<DeviceRow> none(static_cast<std::size_t>(shape.rows));
    check(cudaMemcpyAsync(rows_.get(), none.data(), rows_.bytes(), cudaMemcpyHostToDevice, stream),
          "clearing rows");
    for (std::int64_t i = 0; i < shape.rows; ++i) report(i, {});
  }

  void report(std::int64_t row, RowProgress progress) const {
    host_rows_.host()[row].codes_and_end = HostRow::pack(progress.codes, progress.finished);
  }

  RowProgress progress(std::int64_t row) const {
    const std::uint64_t now = host_rows_.host()[row].codes_and_end;
    std::atomic_thread_fence(std::memory_order_acquire);  // the codes are read after it
    return {static_cast<std::int32_t>(now & 0xFFFFFFFFU), now >> 32U != 0};
  }

  std::int32_t* codes(std::int64_t row) const { return codes_.host() + row * tables.most_codes; }

  RowTables tables;

 private:
  CudaArray<DeviceRow> rows_;
  CudaArray<std::uint8_t> seen_;
  CudaArray<float> logits_;
  CudaArray<float> latents_;
  CudaArray<HostRow> host_rows_;
  CudaArray<std::int32_t> codes_;
};

class CudaCodeDecoder final : public CodeDecoder {
 public:
  CudaCodeDecoder(const CodeDecoderOptions& options, const CodeDecoderWeights& weights)
      : shape_(options.shape),
        device_(options.device),
        stream_(make_stream()),
        rows_(options.shape, stream_),
        steps_(make_step_maker(options, weights, rows_.tables, stream_)) {
    CudaCodeDecoder::wait(0);  // the caller's weights may go now
  }

  ~CudaCodeDecoder() override { cudaStreamSynchronize(stream_); }

  void load_prefix(std::int64_t row, std::int64_t layer, const float* keys, const float* values,
                   std::int64_t length) override {
    MYXTTS_CHECK(row < shape_.rows && layer < shape_.layers && length < shape_.capacity,
                 "no room for {} keys of layer {} of row {}", length, layer, row);
    const DeviceScope on(device_);
    steps_->load_prefix(row, layer, keys, values, length);
    check(cudaGetLastError(), "loading keys");
  }

  void start(std::int64_t row, std::int64_t prefix_length, const SamplingRule& rule) override {
    MYXTTS_CHECK(prefix_length + shape_.most_codes <= shape_.capacity,
                 "a prefix of {} and {} codes do not fit into {} keys", prefix_length,
                 shape_.most_codes, shape_.capacity);
    const DeviceScope on(device_);
    wait(0);  // steps that are still queued would report for the row
    steps_->start();
    put_row(row, {.prefix = static_cast<std::int32_t>(prefix_length),
                  .step = 0,
                  .next = static_cast<std::int32_t>(shape_.start),
                  .finished = 0,
                  .rule = rule});
    std::vector<std::uint8_t> seen(static_cast<std::size_t>(shape_.ids));
    seen[static_cast<std::size_t>(shape_.filler)] = 1;
    seen[static_cast<std::size_t>(shape_.start)] = 1;
    check(cudaMemcpyAsync(rows_.tables.seen + row * shape_.ids, seen.data(), seen.size(),
                          cudaMemcpyHostToDevice, stream_),
          "starting a row");
    rows_.report(row, {.codes = 0, .finished = false});
    wait(0);  // for the copies, whose sources are here
  }

  void advance(std::int64_t steps) override {
    const DeviceScope on(device_);
    for (std::int64_t i = 0; i < steps; ++i) steps_->step();
    Mark& mark = marks_.emplace_back();
    mark.steps = steps;
    // The host sleeps while it waits for one.
    check(
        cudaEventCreateWithFlags(mark.event.out(), cudaEventDisableTiming | cudaEventBlockingSync),
        "making an event");
    check(cudaEventRecord(mark.event.get(), stream_), "decoding");
  }

  void feed(std::int64_t row, std::int64_t id) override {
    const DeviceScope on(device_);
    DeviceRow state = row_now(row);
    state.next = static_cast<std::int32_t>(id);
    if (state.step > 0) rows_.codes(row)[state.step - 1] = state.next;
    put_row(row, state);
    rows_.report(row, {.codes = state.step, .finished = false});
    wait(0);
  }

  void stop(std::int64_t row) override {
    const DeviceScope on(device_);
    DeviceRow state = row_now(row);
    state.finished = 1;
    put_row(row, state);
    rows_.report(row, {.codes = rows_.progress(row).codes, .finished = true});
    wait(0);
  }

  void reorder(const std::vector<std::int64_t>& from) override {
    const DeviceScope on(device_);
    std::vector<DeviceRow> states;
    for (const std::int64_t row : from) states.push_back(row_now(row));
    steps_->copy_rows(from);
    for (std::size_t row = 0; row < from.size(); ++row) {
      put_row(static_cast<std::int64_t>(row), states[row]);
    }
    wait(0);
  }

  std::int64_t steps(std::int64_t row) const override { return row_now(row).step; }

  // A mark stands behind each call of advance(); those behind are waited for.
  void wait(std::int64_t steps) override {
    const DeviceScope on(device_);
    if (steps <= 0) {
      check(cudaStreamSynchronize(stream_), "decoding");
      marks_.clear();
      return;
    }
    std::int64_t left = 0;
    for (const Mark& mark : marks_) left += mark.steps;
    while (!marks_.empty() && left > steps) {
      check(cudaEventSynchronize(marks_.front().event.get()), "decoding");
      left -= marks_.front().steps;
      marks_.pop_front();
    }
  }

  RowProgress progress(std::int64_t row) const override { return rows_.progress(row); }
  const std::int32_t* codes(std::int64_t row) const override { return rows_.codes(row); }
  const float* latents(std::int64_t row) const override {
    return rows_.tables.latents + row * shape_.most_codes * shape_.width;
  }
  const float* logits(std::int64_t row) const override {
    return rows_.tables.logits + row * shape_.ids;
  }

 private:
  void put_row(std::int64_t row, const DeviceRow& state) const {
    check(cudaMemcpyAsync(rows_.tables.rows + row, &state, sizeof(state), cudaMemcpyHostToDevice,
                          stream_),
          "writing a row");
  }

  DeviceRow row_now(std::int64_t row) const {
    DeviceRow state;
    check(cudaMemcpyAsync(&state, rows_.tables.rows + row, sizeof(state), cudaMemcpyDeviceToHost,
                          stream_),
          "reading a row");
    check(cudaStreamSynchronize(stream_), "decoding");
    return state;
  }

  cudaStream_t make_stream() {
    const DeviceScope on(device_);
    check(cudaStreamCreateWithFlags(owned_stream_.out(), cudaStreamNonBlocking), "making a stream");
    return owned_stream_.get();
  }

  struct Mark {
    std::int64_t steps = 0;
    OwnedEvent event;
  };

  const CodeDecoderShape shape_;
  const int device_;
  OwnedStream owned_stream_;
  const cudaStream_t stream_;
  Rows rows_;
  std::deque<Mark> marks_;
  std::unique_ptr<StepMaker> steps_;
};

}  // namespace

std::unique_ptr<CodeDecoder> cuda::make_code_decoder(const CodeDecoderOptions& options,
                                                     const CodeDecoderWeights& weights) {
  require_sizes(options.shape);
  const DeviceScope on(options.device);
  return std::make_unique<CudaCodeDecoder>(options, weights);
}

}  // namespace myxtts
