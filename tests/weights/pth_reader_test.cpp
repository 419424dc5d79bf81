// SPDX-License-Identifier: Apache-2.0
#include "weights/pth.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "weights/dtype.h"
#include "weights/sample_files.h"

namespace myxtts::test::pth_reader_test {
namespace {

// One state dict of a file, by name.
class StateDict {
 public:
  StateDict(const std::string& file, const char* key) : reader_(golden_weights(file)) {
    PickleRef dict = reader_.tree().root();
    if (key != nullptr) dict = reader_.tree().find(dict, key).value();
    items_ = reader_.items(dict);
  }

  PthTensor at(std::string_view name) const {
    for (const auto& [key, value] : items_) {
      if (key == name) return reader_.tensor(value, name);
    }
    throw std::out_of_range(std::string(name));
  }

  std::vector<float> floats(std::string_view name) const {
    std::vector<std::byte> dense_buffer;
    std::vector<std::byte> float_buffer;
    return numbers_of<float>(as_fp32(dense(at(name), dense_buffer), float_buffer));
  }

  std::size_t size() const { return items_.size(); }

 private:
  PthReader reader_;
  std::vector<std::pair<std::string_view, PickleRef>> items_;
};

TEST(PthReader, AnOrderedStateDictWithMetadataIsReadInItsOrder) {
  const PthReader reader(golden_weights("state_dict.pth"));
  const auto items = reader.items(reader.tree().root());
  std::vector<std::string_view> names;
  for (const auto& [name, value] : items) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"0.weight", "0.bias", "1.weight", "1.bias",
                                                  "1.running_mean", "1.running_var",
                                                  "1.num_batches_tracked"}));
  const StateDict state("state_dict.pth", nullptr);
  EXPECT_EQ(state.at("0.weight").shape, (Shape{2, 3}));
  EXPECT_EQ(state.floats("0.weight"), ramp(6));
  const PthTensor counter = state.at("1.num_batches_tracked");
  EXPECT_EQ(counter.dtype, Dtype::I64);
  EXPECT_EQ(counter.shape, Shape{});
  std::vector<std::byte> buffer;
  EXPECT_EQ(numbers_of<std::int64_t>(dense(counter, buffer))[0], 7);
}

class CheckpointOfEachProtocol : public ::testing::TestWithParam<const char*> {};

TEST_P(CheckpointOfEachProtocol, GivesItsTensorsWhateverElseIsInIt) {
  const StateDict model(GetParam(), "model");
  EXPECT_EQ(model.size(), 12U);
  EXPECT_EQ(model.floats("plain"), ramp(6));
  EXPECT_EQ(model.floats("parameter"), ramp(5));
  EXPECT_EQ(model.floats("half"), ramp(4));
  EXPECT_EQ(model.at("half").dtype, Dtype::F16);
  EXPECT_EQ(model.floats("bfloat"), ramp(4));
  EXPECT_EQ(model.floats("double"), ramp(3));
  EXPECT_EQ(model.at("flags").dtype, Dtype::Bool);
  EXPECT_EQ(model.at("empty").shape, (Shape{0, 4}));
  EXPECT_TRUE(model.floats("empty").empty());
}

TEST_P(CheckpointOfEachProtocol, HonoursOffsetsAndStridesOfSharedStorages) {
  const StateDict model(GetParam(), "model");
  const auto base = ramp(24);  // [4, 6]
  EXPECT_EQ(model.floats("shared.whole"), base);
  EXPECT_EQ(model.floats("shared.row"), std::vector<float>(base.begin() + 12, base.begin() + 18));
  EXPECT_EQ(model.floats("shared.column"),
            (std::vector<float>{base[1], base[7], base[13], base[19]}));
  EXPECT_FALSE(model.at("shared.column").is_dense());
  const auto whole = ramp(12);  // [3, 4], shown as [4, 3]
  const auto transposed = model.floats("transposed");
  ASSERT_EQ(model.at("transposed").shape, (Shape{4, 3}));
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      EXPECT_EQ(transposed[row * 3 + column], whole[column * 4 + row]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, CheckpointOfEachProtocol,
                         ::testing::Values("checkpoint.pth", "checkpoint_protocol5.pth"),
                         [](const auto& each) {
                           return std::string(each.param) == "checkpoint.pth" ? "Two" : "Five";
                         });

TEST(PthReader, AClassNobodyKnowsIsARecordAndItsNameCanBeShown) {
  const PthReader reader(golden_weights("checkpoint.pth"));
  const auto config = reader.tree().find(reader.tree().root(), "config");
  EXPECT_NE(reader.tree().describe(config.value()).find("TrainerConfig"), std::string::npos);
  const auto step = reader.tree().find(reader.tree().root(), "step");
  EXPECT_EQ(reader.tree()[step.value()].integer, std::int64_t{1} << 40);
}

TEST(PthReader, ABareTensorIsReadAndItsChecksumHolds) {
  const PthReader reader(golden_weights("bare_tensor.pth"));
  const PthTensor tensor = reader.tensor(reader.tree().root(), "mel_stats");
  std::vector<std::byte> buffer;
  EXPECT_EQ(numbers_of<float>(dense(tensor, buffer)), ramp(80));
  EXPECT_NO_THROW(reader.verify(reader.tree().root(), "mel_stats"));
}

}  // namespace
}  // namespace myxtts::test::pth_reader_test
