// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "weights/allocation_meter.h"
#include "weights/pth.h"
#include "weights/sample_files.h"

namespace myxtts::test::hostile_pickle_test {
namespace {

const std::string kFourFloats(16, '\1');

class HostilePickle : public ::testing::Test {
 protected:
  // Reads the file's "model" dict, all of it.
  std::string read(const std::string& pickle, const std::vector<std::string>& storages = {}) {
    write_pth(path_, pickle, storages);
    return refusal([&] {
      const PthReader reader(path_);
      const auto model = reader.tree().find(reader.tree().root(), "model");
      if (!model) throw DataError("no model");
      for (const auto& [name, value] : reader.items(*model)) {
        std::vector<std::byte> buffer;
        dense(reader.tensor(value, name), buffer);
      }
    });
  }

  std::string read_tensor(const TensorOp& op, const std::string& storage = kFourFloats) {
    return read(pickle_of("}(" + text_op("model") + "}(" + text_op("w") + tensor_op(op) + "uu"),
                {storage});
  }

  static std::string beside_a_tensor(const std::string& operations) {
    return pickle_of("}(" + text_op("model") + "}(" + text_op("w") + tensor_op({}) + "u" +
                     text_op("config") + operations + "u");
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "x.pth";
};

TEST_F(HostilePickle, CallsBesideTheTensorsAreInert) {
  const std::string system = "cposix\nsystem\n(" + text_op("touch executed") + "tR";
  const std::string getattr =
      "cbuiltins\ngetattr\n(cos\npath\n" + text_op("system") + "tR(" + text_op("true") + "tR";
  const std::string nested = "cbuiltins\neval\n(cbuiltins\neval\n(" + system + "tRtR";
  const std::string built = "ccopyreg\n_reconstructor\n)\x81}(" + text_op("x") + system + "ub";
  for (const std::string& call : {system, getattr, nested, built}) {
    EXPECT_EQ(read(beside_a_tensor(call), {kFourFloats}), "");
  }
  EXPECT_FALSE(std::filesystem::exists("executed"));
}

TEST_F(HostilePickle, ATensorThatNeedsACallIsRefusedAndTheCallNamed) {
  const std::string call = "cposix\nsystem\n(" + text_op("touch executed") + "tR";
  const auto message = read(pickle_of("}(" + text_op("model") + "}(" + text_op("w") + call + "uu"));
  EXPECT_NE(message.find("posix.system"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists("executed"));
}

TEST_F(HostilePickle, FilesOfPyTorchThatCallAreReadOrRefusedAndNeverExecuted) {
  const auto open = [](const char* name) {
    const PthReader reader(golden_weights(name));
    const auto model = reader.tree().find(reader.tree().root(), "model");
    for (const auto& [key, value] : reader.items(model.value())) reader.tensor(value, key);
  };
  EXPECT_EQ(refusal([&] { open("calls_system.pth"); }), "");
  const auto message = refusal([&] { open("tensor_by_eval.pth"); });
  EXPECT_NE(message.find(".eval"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists("executed"));
}

TEST_F(HostilePickle, TensorsBeyondTheirStorageAreRefused) {
  EXPECT_EQ(read_tensor({}), "");
  EXPECT_NE(read_tensor({.shape = {5}}), "");
  EXPECT_NE(read_tensor({.offset = 1}), "");
  EXPECT_NE(read_tensor({.offset = -1, .shape = {2}}), "");
  EXPECT_NE(read_tensor({.shape = {2, 2}, .strides = {3, 1}}), "");
  EXPECT_NE(read_tensor({.key = "7"}), "");
  EXPECT_NE(read_tensor({.count = 5}), "");
  EXPECT_NE(read_tensor({.storage_type = "DoubleStorage"}), "");
  EXPECT_NE(read_tensor({.storage_type = "EvilStorage"}), "");
}

TEST_F(HostilePickle, NegativeAndOverflowingSizesAreRefused) {
  constexpr long long kHuge = 1LL << 62;
  EXPECT_NE(read_tensor({.shape = {-4}}), "");
  EXPECT_NE(read_tensor({.strides = {-1}}), "");
  EXPECT_NE(read_tensor({.count = -4}), "");
  EXPECT_NE(read_tensor({.count = kHuge}), "");
  EXPECT_NE(read_tensor({.shape = {kHuge, 4}, .strides = {4, 1}}), "");
  EXPECT_NE(read_tensor({.shape = {2}, .strides = {kHuge}}), "");
  EXPECT_NE(read_tensor({.shape = {1LL << 32, 1LL << 32}, .strides = {0, 0}}), "");
  EXPECT_NE(read_tensor({.offset = kHuge}), "");
  EXPECT_NE(read_tensor({.shape = {2, 2}, .strides = {1}}), "");
}

TEST_F(HostilePickle, OneElementShownAMillionTimesIsRefused) {
  EXPECT_NE(read_tensor({.shape = {1000, 1000}, .strides = {0, 0}}), "");
}

TEST_F(HostilePickle, ValuesThatReferToThemselvesDoNoHarm) {
  const std::string cycle =
      "]q\x01h\x01"
      "a";
  EXPECT_EQ(read(beside_a_tensor(cycle), {kFourFloats}), "");
  EXPECT_NE(read(pickle_of("}q\x01(" + text_op("model") + "h\x01u")), "")
      << "the model dict holds itself where a tensor should be";
}

TEST_F(HostilePickle, MalformedProgramsAreRefused) {
  for (const char* operations :
       {"",       "R",     "u", "t", "(u", "a", "Na",   "b",      "h\x05", "\x93",
        "NN\x93", "(NNNd", "Q", "2", "0",  "1", "\xff", "S'x'\n", "NNR",   "q\x01"}) {
    EXPECT_NE(read(pickle_of(operations)), "") << operations;
  }
  EXPECT_NE(read("\x80\x09N."), "") << "protocol 9";
  EXPECT_NE(read("N."), "") << "no protocol";
  EXPECT_NE(read(""), "");
}

TEST_F(HostilePickle, ManyValuesFromFewBytesAreRefusedWithinFourTimesTheFile) {
  const std::size_t size = 4'000'000;
  const std::string lists(size, ']');
  const std::string marks(size, '(');
  const std::string copies = "N" + std::string(size, '2');
  std::string memos = "N";
  for (std::uint32_t i = 0; i < size / 5; ++i) {
    memos += "r" + std::string(reinterpret_cast<const char*>(&i), sizeof i);
  }
  for (const std::string& operations : {lists, marks, copies, memos}) {
    write_pth(path_, pickle_of(operations));
    const AllocationMeter meter;
    EXPECT_NE(refusal([&] { PthReader reader(path_); }), "") << operations[0];
    EXPECT_LE(meter.peak(), 4 * std::filesystem::file_size(path_)) << operations[0];
  }
}

}  // namespace
}  // namespace myxtts::test::hostile_pickle_test
