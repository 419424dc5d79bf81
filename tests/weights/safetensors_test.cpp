// SPDX-License-Identifier: Apache-2.0
#include "weights/safetensors.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "weights/sample_files.h"

namespace myxtts::test::safetensors_test {
namespace {

std::string file_of(std::string_view header, std::string_view data) {
  const auto length = static_cast<std::uint64_t>(header.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + std::string(header) +
         std::string(data);
}

class Safetensors : public ::testing::Test {
 protected:
  std::string open(std::string_view header, std::string_view data = "") {
    write_file(path_, file_of(header, data));
    return refusal([&] { SafetensorsReader reader(path_); });
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "x.safetensors";
};

TEST_F(Safetensors, WhatIsWrittenIsReadBackWithEveryTypeAndTheMetadata) {
  const std::vector<float> floats = {1.5F, -2.0F, 3.0F, 0.0F, 1.0F, 9.0F};
  const std::int64_t counter = std::int64_t{1} << 40;
  const std::uint8_t byte = 7;
  const TensorViews tensors = {
      {"b.weight", {Dtype::F32, {2, 3}, std::as_bytes(std::span(floats))}},
      {"a.counter", {Dtype::I64, {}, std::as_bytes(std::span(&counter, 1))}},
      {"c.byte", {Dtype::U8, {1}, std::as_bytes(std::span(&byte, 1))}},
      {"d.empty", {Dtype::F32, {0, 4}, {}}}};
  write_safetensors(path_, tensors, {{"format", "pt"}, {"note", "caf\u00e9"}});

  const SafetensorsReader reader(path_);
  ASSERT_EQ(reader.tensors().size(), 4U);
  EXPECT_EQ(reader.at("b.weight").shape, (Shape{2, 3}));
  EXPECT_EQ(numbers_of<float>(reader.at("b.weight")), floats);
  EXPECT_EQ(reader.at("a.counter").shape, Shape{});
  EXPECT_EQ(numbers_of<std::int64_t>(reader.at("a.counter"))[0], counter);
  EXPECT_EQ(numbers_of<std::uint8_t>(reader.at("c.byte"))[0], byte);
  EXPECT_EQ(reader.at("d.empty").shape, (Shape{0, 4}));
  EXPECT_EQ(reader.metadata().at("note"), "caf\u00e9");
}

TEST_F(Safetensors, EveryTensorLiesAtAMultipleOfItsElementsSize) {
  const std::vector<std::byte> zeros(24);
  write_safetensors(path_,
                    {{"a", {Dtype::U8, {3}, std::span(zeros).first(3)}},
                     {"b", {Dtype::F32, {1}, std::span(zeros).first(4)}},
                     {"c", {Dtype::I64, {1}, std::span(zeros).first(8)}}},
                    {});
  const SafetensorsReader reader(path_);
  for (const auto& [name, view] : reader.tensors()) {
    const auto place = reinterpret_cast<std::uintptr_t>(view.bytes.data());
    EXPECT_EQ(place % element_bytes(view.dtype), 0U) << name;
  }
}

TEST_F(Safetensors, AMissingTensorIsNamed) {
  write_safetensors(path_, {}, {});
  EXPECT_NE(refusal([&] { SafetensorsReader(path_).at("gpt.x"); }).find("'gpt.x'"),
            std::string::npos);
}

TEST_F(Safetensors, AHeaderOfATerabyteIsRefusedByItsLengthAlone) {
  const std::uint64_t length = 1'000'000'000'000;
  write_file(path_, std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
  EXPECT_NE(refusal([&] { SafetensorsReader reader(path_); }).find("1000000000000"),
            std::string::npos);
}

TEST_F(Safetensors, AHeaderLongerThanTheFileIsRefused) {
  const std::uint64_t length = 1000;
  write_file(path_, std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
  EXPECT_NE(refusal([&] { SafetensorsReader reader(path_); }), "");
}

TEST_F(Safetensors, OverlapsGapsAndOffsetsBeyondTheFileAreRefused) {
  const std::string data(16, 'x');
  EXPECT_EQ(open(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                     "b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                 data),
            "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                     "b":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}})",
                 data),
            "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                     "b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
                 data),
            "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[8],"data_offsets":[0,32]}})", data), "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", data), "");
}

TEST_F(Safetensors, AShapeThatDoesNotMatchItsBytesIsRefusedAlsoWhereTheProductOverflows) {
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", "12345678"), "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[8,0],"data_offsets":[0,8]}})", "12345678"), "");
  // 2^32 * 2^32 elements are 0 in 64 bits.
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
            "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "12345678"), "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "12345678"), "");
}

TEST_F(Safetensors, AHeaderThatIsNotTheFormatsOwnShapeIsRefused) {
  const std::string good = R"({"dtype":"F32","shape":[],"data_offsets":[0,4]})";
  EXPECT_EQ(open(R"({"a":)" + good + "}", "1234"), "");
  EXPECT_NE(open(R"({"a":)" + good + R"(,"a":)" + good + "}", "1234"), "") << "twice";
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[]}})"), "") << "no offsets";
  EXPECT_NE(open(R"({"a":{"dtype":"Q7","shape":[],"data_offsets":[0,4]}})", "1234"), "");
  EXPECT_NE(open(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", "1234"), "");
  EXPECT_NE(open(R"({"a":{"b":{"c":{}}}})"), "");
  EXPECT_NE(open(R"(["a"])"), "");
  EXPECT_NE(open(R"({"a":)"), "");
  EXPECT_NE(open(R"({"__metadata__":{"a":1}})"), "");
  EXPECT_NE(open(""), "");
  EXPECT_EQ(open("{}"), "");
}

TEST_F(Safetensors, AFileThatIsMissingAFolderOrEmptyIsRefused) {
  EXPECT_NE(refusal([&] { SafetensorsReader reader(folder_ / "none"); }), "");
  EXPECT_NE(refusal([&] { SafetensorsReader reader(folder_.path()); }), "");
  write_file(path_, "");
  EXPECT_NE(refusal([&] { SafetensorsReader reader(path_); }), "");
}

TEST_F(Safetensors, AnUnfinishedFileDoesNotAppear) {
  { SafetensorsWriter writer(path_, {{"a", {Dtype::F32, {2}}}}, {}); }
  EXPECT_FALSE(std::filesystem::exists(path_));
  SafetensorsWriter writer(path_, {{"a", {Dtype::F32, {2}}}}, {});
  EXPECT_THROW(writer.commit(), InternalError) << "a tensor is not written yet";
}

}  // namespace
}  // namespace myxtts::test::safetensors_test
