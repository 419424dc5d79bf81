// SPDX-License-Identifier: Apache-2.0
// The completions, asked for by the shells themselves, and the manual pages, read by groff.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace myxtts::test::completion_test {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

std::string in_single_quotes(const std::string& word) {
  return "'" + word + "'";
}

// The lines that a shell command prints.
Lines lines_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int letter = 0; (letter = std::fgetc(pipe.get())) != EOF;) text += static_cast<char>(letter);
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has(const Lines& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

// A folder with a file, a folder and a model that pull fetched, in which a shell completes.
class Completion : public testing::Test {
 protected:
  Completion() {
    std::ofstream(folder_ / "me and you.wav") << "sound";
    fs::create_directories(folder_ / "corpora/anna");
    fs::create_directories(folder_ / "data/myxtts/models/xtts-v2");
  }

  std::string script(const std::string& shell) const {
    const auto printed = run_program({"completion", shell});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    std::ofstream(folder_ / "script") << printed.out;
    return (folder_ / "script").string();
  }

  std::string there() const {
    return "cd " + in_single_quotes(folder_.path()) +
           " && export XDG_DATA_HOME=" + in_single_quotes(folder_ / "data") +
           " HOME=" + in_single_quotes(folder_.path()) + " && ";
  }

  // What bash offers for the last of the words.
  Lines in_bash(const Lines& words) const {
    std::string command = there() +
                          "bash -c 'source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - "
                          "1)); _myxtts; printf \"%s\\n\" \"${COMPREPLY[@]}\"' bash " +
                          in_single_quotes(script("bash"));
    for (const auto& word : words) command += " " + in_single_quotes(word);
    return lines_of(command);
  }

  TemporaryFolder folder_;
};

TEST_F(Completion, BashOffersCommandsAndTheirOwnFlags) {
  EXPECT_EQ(in_bash({"myxtts", "synth"}), Lines{"synthesize"});
  EXPECT_EQ(in_bash({"myxtts", "vocab", "e"}), Lines{"extend"});
  const Lines all = in_bash({"myxtts", ""});
  for (const char* command : {"train", "pull", "completion"}) EXPECT_TRUE(has(all, command));
  EXPECT_EQ(in_bash({"myxtts", "--quiet", "train", "--stage"}),
            (Lines{"--stage", "--stages", "--stage-budget"}));
  EXPECT_EQ(in_bash({"myxtts", "pull", "--stage"}), Lines{""});
  EXPECT_EQ(in_bash({"myxtts", "launch", "--", "train", "--stages"}), Lines{"--stages"});
}

// Whatever --help shows bash offers, and nothing else: one walk made both.
TEST_F(Completion, BashOffersEveryFlagOfEveryCommand) {
  std::istringstream listing(run_program({"--list-flags"}).out);
  std::map<std::string, Lines> flags;
  for (std::string line; std::getline(listing, line);) {
    flags[line.substr(0, line.find('\t'))].push_back(line.substr(line.find('\t') + 1));
  }
  for (const char* command : {"train", "synthesize", "pull", "doctor"}) {
    Lines offered = in_bash({"myxtts", command, "--"});
    Lines expected = flags.at(command);
    expected.insert(expected.end(), flags.at("myxtts").begin(), flags.at("myxtts").end());
    for (Lines* each : {&offered, &expected}) {
      std::ranges::sort(*each);
      each->erase(std::ranges::unique(*each).begin(), each->end());
    }
    EXPECT_EQ(offered, expected) << command;
  }
}

TEST_F(Completion, BashOffersTheValuesOfAFlagThatHasFewAndFilesElsewhere) {
  EXPECT_EQ(in_bash({"myxtts", "train", "--stage", "d"}), (Lines{"dvae", "decoder"}));
  EXPECT_EQ(in_bash({"myxtts", "train", "--stage", "=", "g"}), Lines{"gpt"});
  EXPECT_EQ(in_bash({"myxtts", "train", "--stage", "="}),
            (Lines{"dvae", "gpt", "decoder", "speaker"}));
  EXPECT_EQ(in_bash({"myxtts", "synthesize", "--device", "c"}), (Lines{"cpu", "cuda"}));
  EXPECT_EQ(in_bash({"myxtts", "config", "--preset", "o"}), Lines{"one-gpu"});
  EXPECT_EQ(in_bash({"myxtts", "config", "--seed", ""}), Lines{""}) << "a number is typed";
  EXPECT_EQ(in_bash({"myxtts", "synthesize", "--reference", "me"}), Lines{"me and you.wav"});
  EXPECT_EQ(in_bash({"myxtts", "synthesize", "--reference", "corp"}), Lines{"corpora"});
  EXPECT_EQ(in_bash({"myxtts", "train", "--checkpoint-dir", "m"}), Lines{""}) << "not a folder";
}

TEST_F(Completion, BashOffersModelsThatPullFetchedAndThoseItKnows) {
  const Lines models = in_bash({"myxtts", "synthesize", "--model", ""});
  EXPECT_TRUE(has(models, "xtts-v2"));
  EXPECT_TRUE(has(models, "corpora"));
  EXPECT_FALSE(has(models, "me and you.wav"));
  EXPECT_EQ(in_bash({"myxtts", "pull", ""}), Lines{"xtts-v2"});
}

TEST_F(Completion, FishOffersCommandsFlagsValuesAndFiles) {
  if (find_program("fish").empty()) GTEST_SKIP() << "fish is not installed";
  const std::string loaded = there() + "fish -N -c 'source " + script("fish") + "; complete -C \"";
  const auto in_fish = [&](const std::string& line) {
    Lines offers = lines_of(loaded + line + "\"'");
    for (auto& offer : offers) offer.resize(std::min(offer.find('\t'), offer.size()));
    return offers;
  };
  EXPECT_EQ(in_fish("myxtts synth"), Lines{"synthesize"});
  EXPECT_EQ(in_fish("myxtts vocab e"), Lines{"extend"});
  EXPECT_EQ(in_fish("myxtts train --stage d"), (Lines{"decoder", "dvae"}));
  EXPECT_TRUE(has(in_fish("myxtts train --stage"), "--stage-budget"));
  EXPECT_EQ(in_fish("myxtts synthesize --reference me"), Lines{"me and you.wav"});
  EXPECT_EQ(in_fish("myxtts synthesize --model x"), Lines{"xtts-v2"});
  EXPECT_EQ(in_fish("myxtts config --seed "), Lines{});
}

// zsh completes at a terminal alone: one of zsh's own is typed into, and a key writes down the
// line.
TEST_F(Completion, ZshCompletesWhatIsTyped) {
  if (find_program("zsh").empty()) GTEST_SKIP() << "zsh is not installed";
  std::ofstream(folder_ / "type.zsh") << R"(zmodload zsh/zpty
zpty shell zsh -f -i
# What is typed comes back, too, so the marks that are waited for are typed in two pieces.
zpty -w shell 'autoload -U compinit; compinit -u -d dump; PS1=; unsetopt beep zle_bracketed_paste'
zpty -w shell 'keep() { print -r -- $BUFFER > line; BUFFER=; print KE''PT }; zle -N keep; bindkey "^X" keep'
zpty -w shell "source script; print LOAD''ED"
zpty -r shell echoed '*LOADED*'
for line in "$@"; do
  zpty -w -n shell "$line"$'\t\x18'
  zpty -r shell echoed '*KEPT*'
  cat line
done
zpty -d shell
)";
  script("zsh");
  const auto typed =
      lines_of(there() +
               "timeout 60 zsh -f type.zsh 'myxtts synth' 'myxtts vocab ext' 'myxtts train --stage "
               "gp' 'myxtts synthesize --referenc' 'myxtts synthesize --reference me' 'myxtts "
               "synthesize --model xt' 'myxtts pull xt' </dev/null");
  EXPECT_EQ(
      typed,
      (Lines{"myxtts synthesize ", "myxtts vocab extend ", "myxtts train --stage gpt ",
             "myxtts synthesize --reference=", "myxtts synthesize --reference me\\ and\\ you.wav ",
             "myxtts synthesize --model xtts-v2 ", "myxtts pull xtts-v2 "}));
}

TEST_F(Completion, AnotherShellIsRefused) {
  const auto result = run_program({"completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  expect_one_sentence(result.err);
  EXPECT_NE(result.err.find("'tcsh'; type myxtts completion bash, zsh or fish"), std::string::npos)
      << result.err;
}

// groff says nothing about any page, and each holds what --help says.
TEST_F(Completion, ManualPagesAreWhatHelpSaysAndGroffTakesThem) {
  ASSERT_EQ(run_program({"--write-shared-pages", (folder_ / "usr").string()}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_ / "usr/share/bash-completion/completions/myxtts"));
  const fs::path pages = folder_ / "usr/share/man/man1";
  ASSERT_TRUE(fs::exists(pages / "myxtts-vocab-extend.1"));
  if (find_program("groff").empty()) GTEST_SKIP() << "groff is not installed";
  for (const auto& page : fs::directory_iterator(pages)) {
    EXPECT_EQ(lines_of("groff -ww -man -z -K utf8 " + in_single_quotes(page.path()) + " 2>&1"),
              Lines{});
  }
  const auto shown = lines_of("groff -man -T utf8 -K utf8 -P -cbou -rLL=1000n " +
                              in_single_quotes(pages / "myxtts-synthesize.1"));
  const std::string help = run_program({"synthesize", "--help"}).out;
  EXPECT_TRUE(has(shown, "SEE ALSO"));
  for (const char* flag : {"--text-file FILE", "--reference CLIP"}) {
    EXPECT_NE(help.find(flag), std::string::npos);
    EXPECT_TRUE(has(shown, std::string("       ") + flag)) << flag;
  }
  EXPECT_TRUE(has(shown, "              A voice that came with the model"));
}

}  // namespace
}  // namespace myxtts::test::completion_test
