// SPDX-License-Identifier: Apache-2.0
#include "weights/tensor_files.h"

#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "weights/safetensors.h"
#include "weights/sample_files.h"

namespace myxtts::test::tensor_files_test {
namespace {

TEST(TensorFiles, WhatIsWrittenIsReadBackBitForBit) {
  const TemporaryFolder folder;
  TensorsByName tensors = {{"scalar", at::scalar_tensor(3, at::kLong)},
                           {"empty", at::empty({0, 4})},
                           {"bool", at::ones({3}, at::kBool)}};
  for (const auto type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    tensors[std::string("random.") + c10::toString(type)] = at::randn({3, 5}).to(type);
  }
  tensors["transposed"] = at::randn({4, 6}).t();
  write_tensors(folder / "x.safetensors", tensors, {{"made", "here"}});

  const TensorsByName read = read_tensors(folder / "x.safetensors");
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(read.at(name), tensor)) << name;
  }
  EXPECT_EQ(SafetensorsReader(folder / "x.safetensors").metadata().at("made"), "here");
}

TEST(TensorFiles, TensorsOutliveTheMapAndTheFilesNameAndNeverWriteBack) {
  const TemporaryFolder folder;
  const auto path = folder / "x.safetensors";
  write_tensors(path, {{"a", at::arange(1000, at::kFloat)}, {"b", at::ones({5})}});
  const std::string before = contents_of(path);
  at::Tensor kept = read_tensors(path).at("a");
  kept.add_(1.0);
  EXPECT_EQ(contents_of(path), before);
  std::filesystem::remove(path);
  EXPECT_TRUE(at::equal(kept, at::arange(1000, at::kFloat) + 1.0));
}

TEST(TensorFiles, ATensorAtAnOddAddressIsReadAsWell) {
  const TemporaryFolder folder;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const auto length = static_cast<std::uint64_t>(header.size());
  const float value = 2.5F;
  std::string content(reinterpret_cast<const char*>(&length), sizeof length);
  content.append(header).append("\7").append(reinterpret_cast<const char*>(&value), sizeof value);
  write_file(folder / "x.safetensors", content);
  const auto tensors = read_tensors(folder / "x.safetensors");
  EXPECT_EQ(tensors.at("b").item<float>(), value);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensors.at("b").const_data_ptr()) % sizeof(float), 0U);
}

}  // namespace
}  // namespace myxtts::test::tensor_files_test
