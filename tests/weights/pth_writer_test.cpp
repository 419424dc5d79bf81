// SPDX-License-Identifier: Apache-2.0
#include "weights/pth.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "weights/sample_files.h"

namespace myxtts::test::pth_writer_test {
namespace {

class PthWriterWithLimit : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(PthWriterWithLimit, WritesWhatTheReaderReads) {
  const TemporaryFolder folder;
  const auto weight = ramp(6);
  const std::int64_t counter = 12;
  const TensorViews tensors = {{"weight", {Dtype::F32, {2, 3}, std::as_bytes(std::span(weight))}},
                               {"counter", {Dtype::I64, {}, std::as_bytes(std::span(&counter, 1))}},
                               {"empty", {Dtype::F32, {0}, {}}}};
  PthWriter writer(folder / "model.pth");
  writer.set_zip64_limit(GetParam());
  writer.open_dict();
  writer.key("model");
  writer.dict(tensors);
  writer.key("config");
  writer.open_dict();
  writer.close_dict();
  writer.close_dict();
  std::size_t progress = 0;
  writer.commit([&](const TensorView& view) { progress += view.bytes.size(); });
  EXPECT_EQ(progress, 32U);

  const PthReader reader(folder / "model.pth");
  const auto model = reader.tree().find(reader.tree().root(), "model");
  const auto items = reader.items(model.value());
  ASSERT_EQ(items.size(), 3U);
  for (const auto& [name, value] : items) {
    const PthTensor tensor = reader.tensor(value, name);
    const TensorView& expected = tensors.at(std::string(name));
    std::vector<std::byte> buffer;
    const TensorView read = dense(tensor, buffer);
    EXPECT_EQ(read.dtype, expected.dtype) << name;
    EXPECT_EQ(read.shape, expected.shape) << name;
    EXPECT_EQ(numbers_of<char>(read), numbers_of<char>(expected)) << name;
    EXPECT_NO_THROW(reader.verify(value, name));
  }
}

// 0: every number in 64 bits; 700: the later entries lie beyond it; the last: none.
INSTANTIATE_TEST_SUITE_P(Limits, PthWriterWithLimit, ::testing::Values(0, 20, 700, 0xffffffff));

TEST(PthWriter, StoragesLieAtMultiplesOf64Bytes) {
  const TemporaryFolder folder;
  const auto weight = ramp(3);
  PthWriter writer(folder / "x.pth");
  writer.tensor({Dtype::F32, {3}, std::as_bytes(std::span(weight))});
  writer.commit();
  const PthReader reader(folder / "x.pth");
  const PthTensor tensor = reader.tensor(reader.tree().root(), "x");
  EXPECT_EQ((tensor.storage.data() - reader.file().bytes().data()) % 64, 0);
}

}  // namespace
}  // namespace myxtts::test::pth_writer_test
