// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/runtime.h"
#include "kernels/adamw/adamw_kernels.cuh"
#include "kernels/cuda_kernels.h"

namespace myxtts {
namespace {

cudaStream_t native(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native);
}

class CudaAdamW final : public AdamW {
 public:
  explicit CudaAdamW(const AdamWRule& rule) : rule_(rule) {}

  void prepare(const Stream& stream, UpdateState* state, std::int64_t step,
               double learning_rate) const override {
    const DeviceScope on(stream.gpu);
    check(launch_adamw_prepare(native(stream), state, step, learning_rate), "preparing an update");
  }

  void update(const Stream& stream, const AdamWArrays& arrays, UpdateState* state) const override {
    const DeviceScope on(stream.gpu);
    const AdamWPart all = {.first = 0, .count = arrays.count, .gradients = arrays.gradients};
    check(launch_adamw_measure(native(stream), arrays.gradient_format, all, arrays.partial_sums),
          "measuring gradients");
    check(launch_adamw_decide(native(stream), rule_, state, arrays.partial_sums, sums_of(arrays)),
          "judging a step");
    if (arrays.own_count) return update_own_part(stream, arrays, state);
    check(launch_adamw_apply(native(stream), arrays, all, rule_, state,
                             arrays.clear_gradients ? arrays.gradients : nullptr),
          "updating weights");
  }

  void begin(const Stream& stream, UpdateState* state) const override {
    const DeviceScope on(stream.gpu);
    check(launch_adamw_decide(native(stream), rule_, state, nullptr, 0), "judging a step");
  }

  void apply_part(const Stream& stream, const AdamWArrays& arrays, const AdamWPart& part,
                  UpdateState* state) const override {
    const DeviceScope on(stream.gpu);
    check(launch_adamw_measure(native(stream), arrays.gradient_format, part, arrays.partial_sums),
          "measuring gradients");
    check(launch_adamw_apply(native(stream), arrays, part, rule_, state, nullptr),
          "updating a weight");
  }

  void finish(const Stream& stream, const AdamWArrays& arrays, UpdateState* state) const override {
    const DeviceScope on(stream.gpu);
    check(launch_adamw_report(native(stream), state, arrays.partial_sums, sums_of(arrays)),
          "reporting a step");
  }

  void add_up(const Stream& stream, const AdamWArrays& arrays, float* sums) const override {
    const DeviceScope on(stream.gpu);
    check(launch_adamw_add_up(native(stream), arrays.gradients, arrays.gradient_format, sums,
                              arrays.count),
          "adding gradients up");
  }

 private:
  // The others' gradients are cleared too.
  void update_own_part(const Stream& stream, const AdamWArrays& arrays, UpdateState* state) const {
    const std::int64_t bytes = arrays.gradient_format == NumberFormat::Fp32 ? 4 : 2;
    const AdamWPart own = {
        .first = arrays.own_first,
        .count = *arrays.own_count,
        .gradients = static_cast<const char*>(arrays.gradients) + arrays.own_first * bytes};
    if (own.count > 0) {
      check(launch_adamw_apply(native(stream), arrays, own, rule_, state, nullptr),
            "updating weights");
    }
    if (!arrays.clear_gradients) return;
    check(cudaMemsetAsync(arrays.gradients, 0, static_cast<std::size_t>(arrays.count * bytes),
                          native(stream)),
          "clearing gradients");
  }

  static std::int64_t sums_of(const AdamWArrays& arrays) { return arrays.count / kAdamWAlignment; }

  const AdamWRule rule_;
};

}  // namespace

std::unique_ptr<AdamW> cuda::make_adamw(const AdamWRule& rule) {
  return std::make_unique<CudaAdamW>(rule);
}

}  // namespace myxtts
