// SPDX-License-Identifier: Apache-2.0
#include "train/dvae/mel_windows.h"
#include "device/torch_device.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "support/training_batches.h"

namespace myxtts::test {

at::Tensor speechlike_mel(std::int64_t windows, std::int64_t frames, std::uint64_t seed) {
  constexpr std::int64_t kShapes = 6;
  const auto centres = at::arange(kShapes, at::kFloat).mul(80.0 / kShapes).add(7).view({-1, 1});
  const auto shapes = ((at::arange(80, at::kFloat) - centres) / 9).square().neg().exp();
  const auto generator = at::detail::createCPUGenerator(seed);
  auto course = at::randn({windows * kShapes, 1, frames + 8}, generator);
  course = at::conv1d(course, at::full({1, 1, 9}, 1.0 / 3));  // of unit variance, and slow
  const auto loud = course.view({windows, kShapes, frames});
  return at::einsum("wkf,kb->wbf", {loud, shapes}) * 0.4 - 0.9;
}

DeviceBatch mel_batch(const at::Tensor& mel, const RoleDevice& device) {
  DeviceBatch batch;
  batch.windows.mel = mel.to(torch_device(device));
  batch.windows.weights = at::ones({mel.size(0)}, batch.windows.mel.options());
  batch.filled = device.make_event();
  batch.consumed = device.make_event();
  return batch;
}

std::vector<StepNumbers> train(PartTraining& training, const std::vector<DeviceBatch*>& batches,
                               int steps, double rate) {
  for (int step = 0; step < steps; ++step) {
    training.accumulate(*batches[static_cast<std::size_t>(step) % batches.size()]);
    training.update(rate);
  }
  return training.finish_numbers();
}

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors copied;
  for (const auto& [name, tensor] : tensors) copied.emplace(name, tensor.clone());
  return copied;
}

void expect_equal(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
}

}  // namespace myxtts::test
