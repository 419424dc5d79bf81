// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_file.h"

namespace myxtts::test::config_test {
namespace {

struct BadFile {
  std::string yaml;
  int line;            // 0: the sentence names no line
  std::string names;   // what the sentence must quote
  std::string remedy;  // and what it must say to do or allow
};

std::ostream& operator<<(std::ostream& out, const BadFile& bad) {
  return out << testing::PrintToString(bad.yaml.substr(0, 60));
}

class BadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, ExitWithTwoAndOneSentence) {
  const TemporaryFile file(GetParam().yaml);
  const auto result = run_program({"config", "--config", file.string()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  expect_one_sentence(result.err);
  const std::string place =
      GetParam().line > 0 ? file.string() + ":" + std::to_string(GetParam().line) : file.string();
  EXPECT_NE(result.err.find(place), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(GetParam().names), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(GetParam().remedy), std::string::npos) << result.err;
}

std::string nested(const std::string& piece, int count) {
  std::string text;
  for (int index = 0; index < count; ++index) text += piece;
  return text;
}

// Nine anchors of ten aliases each: a thousand million words once written out.
std::string billion_laughs() {
  std::string text = "data:\n  pin_memory: &a0 [lol, lol]\n";
  const char* keys[] = {"enable_xla", "mixed_precision", "pad_to_multiple", "pad_to_fixed_length"};
  for (int level = 0; level < 4; ++level) {
    text += "  " + std::string(keys[level]) + ": &a" + std::to_string(level + 1) + " [" +
            nested("*a" + std::to_string(level) + ", ", 1000) + "]\n";
  }
  return text;
}

const std::vector<BadFile> kBadFiles = {
    {"data:\n  num_worker: 4\n", 2, "'data.num_worker'", "did you mean data.num_workers?"},
    {"dtaa:\n  num_workers: 4\n", 1, "'dtaa'", "did you mean data?"},
    {"num_workers: 4\n", 1, "'num_workers'", "did you mean data.num_workers?"},
    {"data:\n  seed: 4\n", 2, "'data.seed'", "did you mean train.seed?"},
    {"data:\n  buffer_size: 4\n", 2, "'data.buffer_size'", "mean data.pipeline_buffer_size?"},
    {"gradient_accumulation_steps: 4\n", 1, "'gradient_accumulation_steps'", "train.grad_accum?"},
    {"giraffes: 4\n", 1, "'giraffes'", "--format reference"},
    {"data:\n  num_workers: many\n", 2, "'many'", "a whole number from 1 to 1024, or auto"},
    {"data:\n  num_workers: 4.5\n", 2, "'4.5'", "a whole number"},
    {"data:\n  num_workers: 0\n", 2, "'0'", "from 1 to 1024"},
    {"data:\n  num_workers: [4]\n", 2, "data.num_workers", "but was given a list"},
    {"data:\n  num_workers: {a: 4}\n", 2, "data.num_workers", "but was given a map"},
    {"data: 4\n", 1, "'4'", "settings by name"},
    {"data: [num_workers]\n", 1, "data", "settings by name"},
    {"train:\n  seed:\n", 2, "train.seed", "has no value; it takes"},
    {"train:\n  lr: .inf\n", 2, "'.inf'", "a number from"},
    {"train:\n  lr: -1e-4\n", 2, "'-1e-4'", "a number from"},
    {"train:\n  seed: 1\n  lr: 0.1\n  seed: 2\n", 4, "train.seed", "keep one of the two"},
    {"train:\n  seed: 1\ntrain:\n  lr: 0.1\n", 3, "train", "keep one of the two"},
    {"train:\n  precision: fp23\n", 2, "'fp23'", "did you mean fp32?"},
    {"train:\n  deterministic: 2\n", 2, "'2'", "true or false"},
    {"data:\n  train_data: ''\n", 2, "''", "the path of a folder"},
    {"- data\n- train\n", 1, "a list", "'seed: 7'"},
    {"just words\n", 1, "'just words'", "'seed: 7'"},
    {"data:\n\tnum_workers: 4\n", 2, "'num_workers: 4'", "use spaces"},
    {"data: {num_workers: 4\n", 2, "not valid YAML", "'seed: 7'"},
    {"train: {seed: 1}}\n", 1, "not valid YAML", "'seed: 7'"},
    {"train: {seed: 1}\n---\ntrain: {seed: 2}\n", 2, "second document", "keep one"},
    {"? [a, b]\n: 4\n", 1, "a list", "'seed: 7'"},
    {"train:\n  seed: !!python/object:os.system 1\n", 2, "python/object", "write the value alone"},
    {"train: &t {seed: 1}\ndata: *t\n", 2, "Aliases", "write the value out"},
    {billion_laughs(), 3, "Aliases", "write the value out"},
    {"data: {pin_memory: " + nested("[", 100'000), 1, "nested too deeply", "two levels"},
    {nested("[", 100'000), 1, "a list", "'seed: 7'"},
    {"train:\n  seed: \xff\xfe\n", 0, "not UTF-8", "save it as UTF-8"},
    {std::string("\x7f"
                 "ELF\x02\x01\x01\0\0\0\0",
                 11),
     0, "not UTF-8", "save it as UTF-8"},
    {std::string("\xff\xfe"
                 "d\0a\0t\0a\0:\0",
                 12),
     0, "not UTF-8", "save it as UTF-8"},
    {"# " + std::string(1 << 20, 'x') + "\n", 0, "larger than 1 MB", "--config"},
    {"data:\n  data_gpu: 1\n", 2, "data.data_gpu is 1", "give both"},
    {"devices: {device: cpu, mode: dual}\n", 1, "devices.device is cpu", "--device cuda"},
};

INSTANTIATE_TEST_SUITE_P(Config, BadFiles, testing::ValuesIn(kBadFiles));

TEST(Config, AMissingFileAFolderAndAnEmptyNameAreNamed) {
  for (const char* path : {"/no/such/file.yaml", "/tmp", ""}) {
    const auto result = run_program({"config", "--config", path});
    EXPECT_EQ(result.exit_code, 2) << path;
    expect_one_sentence(result.err);
    EXPECT_NE(result.err.find(path), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("--config"), std::string::npos) << result.err;
  }
}

TEST(Config, AnEndlessFileIsNotReadToItsEnd) {
  const auto result = run_program({"config", "--config", "/dev/zero"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("larger than 1 MB"), std::string::npos) << result.err;
}

TEST(Config, EachValueShowsWhereItCameFrom) {
  const TemporaryFile file("data:\n  num_workers: 8\n");
  const auto result = run_program({"config", "--preset", "two-gpu", "--config", file.string(),
                                   "--seed", "7", "--resume", "--disable-static-shapes"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& line :
       {std::string("  data_gpu: 0                     # preset two-gpu\n"),
        "  num_workers: 8                  # " + file.string() + ":2\n",
        std::string("  seed: 7                         # flag --seed\n"),
        std::string("  resume: latest                  # flag --resume\n"),
        std::string("  enable_static_shapes: false     # flag --disable-static-shapes\n"),
        std::string("  lr: 0.0002                      # default: the part starts from nothing\n"),
        std::string("  epochs: 100                     # default\n")}) {
    EXPECT_NE(result.out.find(line), std::string::npos) << line << "not in\n" << result.out;
  }
}

TEST(Config, ItsOutputReadBackGivesTheSameValues) {
  const auto without_origins = [](const std::string& yaml) {
    std::string values;
    for (std::size_t at = 0; at < yaml.size(); at = yaml.find('\n', at) + 1) {
      values += yaml.substr(at, yaml.find("  # ", at) - at) + "\n";
    }
    return values;
  };
  const auto first =
      run_program({"config", "--preset", "two-gpu", "--train-data", "my: \"folder\" # 1", "--lr",
                   "0.000123", "--resume", "1500", "--language", "fa"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto again = run_program({"config", "--config", "/dev/stdin"},
                                 {.standard_input = first.out, .environment = {}});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(without_origins(again.out), without_origins(first.out));
  EXPECT_NE(again.out.find("lr: 0.000123"), std::string::npos) << again.out;
}

}  // namespace
}  // namespace myxtts::test::config_test
