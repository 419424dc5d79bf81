// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_file.h"

namespace myxtts::test::command_line_test {
namespace {

struct BadCommandLine {
  std::vector<std::string> arguments;
  std::string names;   // what the sentence must quote
  std::string remedy;  // and what it must say to do
};

std::ostream& operator<<(std::ostream& out, const BadCommandLine& bad) {
  for (const auto& argument : bad.arguments) out << argument << ' ';
  return out;
}

class BadCommandLines : public testing::TestWithParam<BadCommandLine> {};

TEST_P(BadCommandLines, ExitWithTwoAndOneSentence) {
  const auto result = run_program(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  expect_one_sentence(result.err);
  EXPECT_NE(result.err.find(GetParam().names), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(GetParam().remedy), std::string::npos) << result.err;
}

const std::vector<BadCommandLine> kBadCommandLines = {
    {{"confgi"}, "'confgi'", "did you mean 'myxtts config'?"},
    {{"CONFIG"}, "'CONFIG'", "did you mean 'myxtts config'?"},
    {{"zzzzzzzz"}, "'zzzzzzzz'", "myxtts --help"},
    {{"--verison"}, "'--verison'", "did you mean --version?"},
    {{"--seed", "3", "config"}, "--seed", "after one, as in 'myxtts config --seed'"},
    {{"config", "--batchsize", "3"}, "'--batchsize'", "did you mean --batch-size?"},
    {{"config", "--batch_size", "3"}, "'--batch_size'", "did you mean --batch-size?"},
    {{"config", "--sed=3"}, "'--sed'", "did you mean --seed?"},
    {{"config", "--qqqqqqqqqqqq"}, "'--qqqqqqqqqqqq'", "myxtts config --help"},
    {{"config", "-x"}, "'-x'", "myxtts config --help"},
    {{"train", "--batch", "3"}, "'--batch'", "did you mean --batch-size?"},
    {{"train", "--gradient-accumulation", "3"},
     "'--gradient-accumulation'",
     "did you mean --grad-accum?"},
    {{"train", "--learning-rate", "3"}, "'--learning-rate'", "did you mean --lr?"},
    {{"train", "--data", "x"}, "'--data'", "did you mean --train-data?"},
    {{"train", "--out", "x"}, "'--out'", "did you mean --checkpoint-dir?"},
    {{"train", "run.yaml"}, "'run.yaml'", "a file of settings is named with --config"},
    {{"vocab"}, "myxtts vocab needs a command", "as in 'myxtts vocab extend'"},
    {{"export"}, "needs --model", "as in '--model DIR'"},
    {{"train", "--model", "x"}, "'--model'", "did you mean --init?"},
    {{"train", "--cpu"}, "'--cpu'", "did you mean --device?"},
    {{"synthesize", "--init", "x"}, "'--init'", "did you mean --model?"},
    {{"evaluate", "--train-data", "x"}, "'--train-data'", "did you mean --data?"},
    {{"train", "corpora/anna"}, "'corpora/anna'", "as in 'myxtts train --train-data corpora/anna'"},
    {{"demo", "--clips", "0"}, "'0'", "--clips takes a whole number from 20 to 3000, but"},
    {{"demo", "--seconds", "x"}, "'x'", "--seconds takes a number from 1 to 36000, but"},
    {{"doctor", "--recommend", "--hosts", "1.5"}, "'1.5'", "takes a whole number from 1 to 4096"},
    {{"doctor", "--bundle", "/tmp"}, "/tmp is a folder", "--bundle for-help.tar --run /tmp"},
    {{"config", "--config", "two-gpu"}, "two-gpu", "a recipe of "},
    {{"synthesize", "--ref", "x"}, "'--ref'", "did you mean --reference?"},
    {{"config", "--enable-static-shapes", "--disable-static-shapes"},
     "--enable-static-shapes and --disable-static-shapes contradict each other",
     "leave one of the two out"},
    {{"config", "--strict", "--no-strict"},
     "--strict and --no-strict contradict each other",
     "leave one of the two out"},
    {{"config", "extra"}, "'extra'", "myxtts config --help"},
    {{"config", "config"}, "'config'", "myxtts config --help"},
    {{"config", ""}, "''", "myxtts config --help"},
    {{"config", "--seed"}, "--seed", "needs a value, as in 'myxtts config --seed N'"},
    {{"config", "--seed="}, "--seed", "needs a value, as in 'myxtts config --seed N'"},
    {{"config", "--train-data", "--seed", "3"},
     "--train-data",
     "needs a value, but --seed follows"},
    {{"config", "--config", "--quiet"}, "--config", "needs a value, but --quiet follows"},
    {{"config", "--seed", "seven"}, "'seven'", "a whole number from 0"},
    {{"config", "--seed", "-5"}, "'-5'", "a whole number from 0"},
    {{"config", "--seed", "1", "--seed", "2"}, "--seed", "give it once"},
    {{"config", "--lr", "1e-4x"}, "'1e-4x'", "a number from 1e-12 to 1"},
    {{"config", "--lr", "nan"}, "'nan'", "a number from 1e-12 to 1"},
    {{"config", "--batch-size", "0"}, "'0'", "from 1 to 4096, or auto"},
    {{"config", "--batch-size", "99999999999999999999999"},
     "'99999999999999999999999'",
     "from 1 to 4096"},
    {{"config", "--prefetch-buffer-size", "1"}, "'1'", "from 2 to 64"},
    {{"config", "--precision", "bf61"}, "'bf61'", "did you mean bf16?"},
    {{"config", "--model-size", "huge"}, "'huge'", "tiny, small, normal, big or xtts-v2"},
    {{"config", "--cache-dataset=maybe"}, "'maybe'", "true or false"},
    {{"config", "--split-gpu", "0:0"}, "'0:0'", "as in 0:16"},
    {{"config", "--train-data", "\xff\xfe"}, "'\\xff\\xfe'", "which is not UTF-8; rename"},
    {{"config", "--language", "English"}, "'English'", "did you mean en?"},
    {{"config", "--language", "persian"}, "'persian'", "did you mean fa?"},
    {{"config", "--language", "eng"}, "'eng'", "did you mean en?"},
    {{"config", "--language", "en-US"}, "'en-US'", "did you mean en?"},
    {{"export", "--model", "x", "--format", "onnx", "--out", "y"},
     "--format onnx is not written here",
     "leave --format away"},
    {{"train", "--resume"}, "--resume names no run", "no run/config.yaml; give --resume RUN"},
    {{"train", "--resume", "--train-data", "x"},
     "--resume names no run",
     "no run/config.yaml; give --resume RUN"},
    {{"train", "--resume", "/tmp"}, "--resume /tmp names no run", "no /tmp/config.yaml"},
    {{"help", "trian"}, "'trian'", "did you mean 'myxtts train'?"},
    {{"trian", "--help"}, "'trian'", "did you mean 'myxtts train'?"},
    {{"config", "--preset", "two-gpus"}, "'two-gpus'", "did you mean two-gpu?"},
    {{"config", "--format", "xml"}, "'xml'", "yaml, reference or markdown"},
    {{"config", "--data-gpu", "1"}, "--data-gpu", "--data-gpu 0 --model-gpu 1"},
    {{"config", "--data-gpu", "1", "--model-gpu", "1"}, "data.model_gpu is 1", "--split-gpu 1"},
    {{"config", "--device", "cpu", "--split-gpu", "0"}, "devices.split_gpu is 0", "--device cuda"},
    {{"config", "--data-gpu-memory", "4096"}, "is 4096", "--enable-memory-isolation"},
    {{"config", "--quiet", "--verbose"}, "--quiet excludes --verbose", "leave one of the two out"},
    {{"config", "--log-file", "/proc/no/log.txt"}, "/proc/no/log.txt", "--log-file"},
    {{"config", "--log-file", "/proc/x"}, "/proc/x", "may not write to the folder /proc"},
    {{"prepare", "--data", "x"}, "'--data'", "as in 'myxtts prepare CORPUS'"},
    {{"import", "--model", "x"}, "'--model'", "did you mean --from?"},
    {{"transcribe", "x.wav", "--model", "x"}, "'--model'", "did you mean --whisper?"},
    {{"config", "a\nb\x1b[31m"}, "'a\\x0ab\\x1b[31m'", "myxtts config --help"},
};

INSTANTIATE_TEST_SUITE_P(CommandLine, BadCommandLines, testing::ValuesIn(kBadCommandLines));

TEST(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(run_program({"help"}).out, run_program({"--help"}).out);
  const auto page = run_program({"help", "vocab", "extend"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_EQ(page.out, run_program({"vocab", "extend", "--help"}).out);
}

// Every flag that names something to write, of every command, with inputs that are not there: what
// is tested first is what is to be written.
TEST(CommandLine, WhatIsToBeWrittenIsTestedBeforeTheWork) {
  const TemporaryFolder folder;
  const std::string out = folder / "none" / "out.wav";
  const std::string file = folder / "file";
  std::ofstream(file) << "a file";
  const std::string below = file + "/out";
  const std::vector<std::string> speak = {
      "synthesize", "--model", "m", "--language", "en", "--text", "Hi.", "--reference", "r.wav"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<std::vector<std::string>> commands = {
      with(speak, {"--out", out}),
      with(speak, {"--out", file + ".wav", "--dump", out}),
      with(speak, {"--out", file + ".wav", "--save-voice", out}),
      {"encode", "--model", "m", "x.wav", "--out", out},
      {"prepare", "corpus", "--report", out},
      {"prepare", "corpus", "--cache-dir", below},
      {"evaluate", "--model", "m", "--data", "corpus", "--cache-dir", below},
      {"serve", "--model", "m", "--outputs", below},
      {"synthesize", "--resynthesize", "corpus", "--model", "m", "--language", "en", "--out",
       below},
      {"doctor", "--bundle", out},
      {"profile", "--model-size", "tiny", "--json", out},
      {"profile", "--model-size", "tiny", "--html", out},
      {"profile", "--model-size", "tiny", "--apply", out},
      {"profile", "--model-size", "tiny", "--trace", out},
      {"profile", "--model-size", "tiny", "--cache-dir", below},
      {"train", "--train-data", "corpus", "--checkpoint-dir", below},
      {"train", "--train-data", "corpus", "--checkpoint-dir", folder / "run", "--cache-dir", below},
      {"train", "--train-data", "corpus", "--checkpoint-dir", folder / "run", "--trace", out},
      {"import", "--from", "m", "--out", below},
      {"export", "--model", "m", "--format", "coqui", "--out", below},
      {"vocab", "extend", "--model", "m", "--text", "t", "--language", "fa", "--out", below},
      {"config", "--log-file", out},
      {"vocab", "extend", "--vocab", "v", "--text", "t", "--language", "fa", "--out", out},
      {"demo", "--out", below}};
  for (const auto& command : commands) {
    const auto result = run_program(command);
    const std::string& flag = command[command.size() - 2];
    EXPECT_EQ(result.exit_code, flag == "--log-file" ? 2 : 3) << result.err;
    EXPECT_TRUE(result.err.starts_with("myxtts: " + flag + " " + command.back())) << result.err;
    EXPECT_NE(result.err.find(command.back() == out ? "mkdir -p" : "is not a folder"),
              std::string::npos)
        << result.err;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing was left behind";
}

TEST(CommandLine, GlobalFlagsMayStandBeforeAndAfterTheCommand) {
  const TemporaryFile file("data:\n  pin_memory: true\n");
  const std::vector<std::string> command = {"config", "--config", file.string()};
  EXPECT_NE(run_program(command).err.find("data.pin_memory has no meaning here"),
            std::string::npos);
  auto before = command;
  before.insert(before.begin(), "--quiet");
  auto after = command;
  after.push_back("--quiet");
  EXPECT_EQ(run_program(before).err, "");
  EXPECT_EQ(run_program(after).err, "");
  EXPECT_EQ(run_program(before).out, run_program(command).out);
}

TEST(CommandLine, TheLogFileGetsWhatQuietHides) {
  const TemporaryFile file("data:\n  pin_memory: true\n");
  const std::string log = file.path().parent_path() / "log.txt";
  const auto result =
      run_program({"--quiet", "config", "--config", file.string(), "--log-file", log});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  std::ostringstream content;
  content << std::ifstream(log).rdbuf();
  EXPECT_NE(content.str().find("data.pin_memory has no meaning here"), std::string::npos)
      << content.str();
}

TEST(CommandLine, TheProgramAloneShowsItsHelp) {
  const auto alone = run_program({});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_EQ(alone.out, run_program({"--help"}).out);
  EXPECT_NE(alone.out.find("\n  config "), std::string::npos) << alone.out;
  EXPECT_NE(alone.out.find("Examples\n"), std::string::npos) << alone.out;
}

TEST(CommandLine, ACommandsHelpShowsItsFlagsItsExamplesAndTheGlobalFlags) {
  const auto result = run_program({"config", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* piece :
       {"Usage: myxtts config [flags]", "--seed N", "--resume [STEP|PATH]", "--split-gpu N[:SMS]",
        "--cache-dataset, --no-cache-dataset", "--log-file FILE", "Examples\n  myxtts config"}) {
    EXPECT_NE(result.out.find(piece), std::string::npos) << piece << '\n' << result.out;
  }
  EXPECT_EQ(result.out.find("--help"), result.out.rfind("--help")) << result.out;
}

TEST(CommandLine, NoLineOfTheHelpIsTooWideForATerminal) {
  std::istringstream help(run_program({"--help"}).out + run_program({"config", "--help"}).out);
  for (std::string line; std::getline(help, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(CommandLine, VersionNamesOursAndTheLoadedLibTorch) {
  const auto result = run_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("myxtts 0.")) << result.out;
  EXPECT_NE(result.out.find("\nLibTorch 2.11."), std::string::npos) << result.out;
}

TEST(CommandLine, EveryListedFlagStandsInAHelpPage) {
  std::istringstream listing(run_program({"--list-flags"}).out);
  const std::string help = run_program({"--help"}).out + run_program({"config", "--help"}).out;
  int count = 0;
  for (std::string line; std::getline(listing, line); ++count) {
    if (line.starts_with("myxtts\t") || line.starts_with("config\t")) {
      EXPECT_NE(help.find(line.substr(line.find('\t') + 1)), std::string::npos) << line;
    }
  }
  EXPECT_GT(count, 40);
}

// What a shell makes of the end of the program when its output goes to `output`.
int shell_exit_code(const std::string& output, const std::string& errors) {
  const std::string command =
      std::string(MYXTTS_PROGRAM) + " config >" + output + " 2> " + errors + "; exit $?";
  return WEXITSTATUS(std::system(command.c_str()));
}

TEST(CommandLine, AReaderThatLeavesEarlyEndsTheProgramQuietly) {
  const TemporaryFile errors("");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);  // nobody reads
  EXPECT_EQ(shell_exit_code("&" + std::to_string(ends[1]), errors.string()), 128 + SIGPIPE);
  close(ends[1]);
  EXPECT_EQ(std::filesystem::file_size(errors.path()), 0U);
}

TEST(CommandLine, AFullDiskIsAnErrorAndNotASilentSuccess) {
  const TemporaryFile errors("");
  EXPECT_EQ(shell_exit_code("/dev/full", errors.string()), 3);
  EXPECT_GT(std::filesystem::file_size(errors.path()), 0U);
}

}  // namespace
}  // namespace myxtts::test::command_line_test
