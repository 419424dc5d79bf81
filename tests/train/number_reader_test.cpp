// SPDX-License-Identifier: Apache-2.0
#include "train/step/part_training.h"

#include <gtest/gtest.h>

namespace myxtts::number_reader_test {
namespace {

std::unique_ptr<RoleDevice> cpu() {
  return open_role_device(Role::Model, RolePlan{});
}

TEST(NumberReader, AReportComesWholeWithAsManyLossesAsItHas) {
  const auto device = cpu();
  NumberReader reader(*device, 2);
  const UpdateReport report{.step = 5,
                            .gradient_norm = 3,
                            .loss = 10.5F,
                            .losses = {4, 6, 99},
                            .loss_scale = 256,
                            .skipped = 1};
  reader.read(device->stream(), &report);
  const auto numbers = reader.finish();
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(numbers[0].step, 5);
  EXPECT_EQ(numbers[0].losses, (std::vector<double>{4, 6}));
  EXPECT_EQ(numbers[0].loss, 10.5);
  EXPECT_EQ(numbers[0].gradient_norm, 3);
  EXPECT_EQ(numbers[0].loss_scale, 256);
  EXPECT_TRUE(numbers[0].skipped);
}

TEST(NumberReader, ReportsComeInTheOrderOfTheirSteps) {
  const auto device = cpu();
  NumberReader reader(*device, 1);
  for (std::int64_t step = 1; step <= 3; ++step) {
    const UpdateReport report{.step = step, .losses = {static_cast<float>(step) / 4}};
    reader.read(device->stream(), &report);
  }
  const auto numbers = reader.finish();
  ASSERT_EQ(numbers.size(), 3u);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(numbers[static_cast<std::size_t>(i)].step, i + 1);
    EXPECT_EQ(numbers[static_cast<std::size_t>(i)].losses[0], static_cast<double>(i + 1) / 4);
  }
}

}  // namespace
}  // namespace myxtts::number_reader_test
