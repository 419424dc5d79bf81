// SPDX-License-Identifier: Apache-2.0
#include "adamw_arrays.h"

#include <cstring>

namespace myxtts::test {
namespace {

NumberFormat format_of(at::ScalarType type) {
  if (type == at::kFloat) return NumberFormat::Fp32;
  return type == at::kBFloat16 ? NumberFormat::Bf16 : NumberFormat::Fp16;
}

at::ScalarType type_of(Moments moments) {
  if (moments == Moments::Fp32) return at::kFloat;
  return moments == Moments::Bf16 ? at::kBFloat16 : at::kByte;
}

}  // namespace

AdamWTensors::AdamWTensors(const AdamWFormats& wanted, std::int64_t count, c10::Device device)
    : formats(wanted) {
  at::manual_seed(7);
  weights = at::randn({count}).to(device);
  gradients = (at::randn({count}) * 0.01).to(wanted.gradient).to(device);
  if (wanted.copy != at::kFloat) copy = weights.to(wanted.copy);
  means = at::zeros({count}, at::TensorOptions(device).dtype(type_of(wanted.moments)));
  squares = at::zeros_like(means);
  partial_sums = at::zeros({count / kAdamWAlignment}, at::TensorOptions(device));
  if (wanted.moments == Moments::EightBit) {
    mean_scales = at::zeros({count / kAdamWBlock}, at::TensorOptions(device));
    square_scales = at::zeros_like(mean_scales);
  }
  state = at::empty({sizeof(UpdateState)}, at::TensorOptions(device).dtype(at::kByte));
  write_state({});
}

AdamWArrays AdamWTensors::arrays() const {
  const auto floats = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
  };
  return {.count = weights.size(0),
          .decayed = weights.size(0) / 2 / kAdamWAlignment * kAdamWAlignment,
          .weights = floats(weights),
          .copy = copy.defined() ? copy.mutable_data_ptr() : nullptr,
          .copy_format = format_of(formats.copy),
          .gradients = gradients.mutable_data_ptr(),
          .gradient_format = format_of(formats.gradient),
          .means = {.numbers = means.mutable_data_ptr(), .scales = floats(mean_scales)},
          .squares = {.numbers = squares.mutable_data_ptr(), .scales = floats(square_scales)},
          .moments = formats.moments,
          .partial_sums = floats(partial_sums)};
}

UpdateState AdamWTensors::read_state() const {
  const auto here = state.cpu();
  UpdateState value;
  std::memcpy(&value, here.const_data_ptr(), sizeof value);
  return value;
}

void AdamWTensors::write_state(const UpdateState& value) {
  UpdateState copied = value;
  state.copy_(at::from_blob(&copied, {sizeof copied}, at::kByte));
}

}  // namespace myxtts::test
