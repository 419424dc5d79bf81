// SPDX-License-Identifier: Apache-2.0
#include "weights/ctranslate2.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "sample_files.h"
#include "support/temporary_folder.h"

namespace myxtts::test::ctranslate2_test {
namespace {

template <typename Number>
std::string little(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string name(const std::string& text) {
  return little(static_cast<std::uint16_t>(text.size() + 1)) + text + '\0';
}

// Two tensors, [2, 3] fp32 and a number of 16 bits, and an alias of the first.
std::string sample() {
  std::string bytes = little(std::uint32_t{6}) + name("WhisperSpec") + little(std::uint32_t{3}) +
                      little(std::uint32_t{2});
  bytes += name("a") + '\2' + little(std::uint32_t{2}) + little(std::uint32_t{3}) + '\0' +
           little(std::uint32_t{24});
  for (int i = 0; i < 6; ++i) bytes += little(static_cast<float>(i));
  bytes += name("n") + '\0' + '\2' + little(std::uint32_t{2}) + little(std::int16_t{8});
  return bytes + little(std::uint32_t{1}) + name("b") + name("a");
}

std::string refusal(const TemporaryFolder& folder, const std::string& bytes) {
  write_file(folder / "model.bin", bytes);
  try {
    const Ctranslate2Reader reader(folder / "model.bin");
  } catch (const DataError& error) {
    return error.what();
  }
  return "opened";
}

TEST(Ctranslate2, TensorsAndTheirAliasesAreWhatWasWritten) {
  const TemporaryFolder folder;
  write_file(folder / "model.bin", sample());
  const Ctranslate2Reader reader(folder / "model.bin");
  EXPECT_EQ(reader.kind(), "WhisperSpec");
  ASSERT_EQ(reader.tensors().size(), 3U);
  for (const char* each : {"a", "b"}) {
    const TensorView& view = reader.tensors().at(each);
    EXPECT_EQ(view.shape, (Shape{2, 3}));
    EXPECT_EQ(numbers_of<float>(view), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
  EXPECT_EQ(numbers_of<std::int16_t>(reader.tensors().at("n")), (std::vector<std::int16_t>{8}));
}

TEST(Ctranslate2, AFileThatEndsAnywhereElseIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = sample();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal(folder, whole.substr(0, length)), "opened") << length;
  }
  EXPECT_NE(refusal(folder, whole + "x").find("goes on for 1 bytes"), std::string::npos);
}

// Whatever a byte is changed to, the file is refused or its tensors lie in it.
TEST(Ctranslate2, NoByteLeadsOutOfTheFile) {
  const TemporaryFolder folder;
  const std::string whole = sample();
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const char value : {'\0', '\1', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[place] = value;
      write_file(folder / "model.bin", changed);
      try {
        const Ctranslate2Reader reader(folder / "model.bin");
        for (const auto& [each, view] : reader.tensors()) {
          EXPECT_EQ(dense_bytes(view.dtype, view.shape), view.bytes.size()) << each;
        }
      } catch (const DataError&) {
      }
    }
  }
}

TEST(Ctranslate2, WhatCannotBeIsNamed) {
  const TemporaryFolder folder;
  std::string other = sample();
  other[0] = 5;
  EXPECT_NE(refusal(folder, other).find("version 6: it begins with 5"), std::string::npos);
  std::string twice = sample();
  twice[twice.size() - 6] = 'n';  // the alias
  EXPECT_NE(refusal(folder, twice).find("names 'n' twice"), std::string::npos);
  std::string nowhere = sample();
  nowhere[nowhere.size() - 2] = 'z';
  EXPECT_NE(refusal(folder, nowhere).find("alias 'b' of no tensor"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::test::ctranslate2_test
