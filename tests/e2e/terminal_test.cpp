// SPDX-License-Identifier: Apache-2.0
// What a person at a terminal is shown and refused.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"

namespace myxtts::test::terminal_test {
namespace {

// The other end of a terminal, as whoever sits before it has it.
class Terminal {
 public:
  Terminal() : end_(posix_openpt(O_RDWR | O_NOCTTY)) {
    if (end_ < 0 || grantpt(end_) != 0 || unlockpt(end_) != 0) throw std::runtime_error("no pty");
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { close(end_); }
  std::string name() const { return ptsname(end_); }
  int end() const { return end_; }

 private:
  int end_;
};

class AtATerminal : public testing::Test {
 protected:
  AtATerminal() {
    write_tiny_model(folder_ / "model");
    write_tone(folder_ / "me.wav", 140, 3);
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(AtATerminal, RawSoundIsNotWrittenToATerminal) {
  const Terminal terminal;
  const std::string command = std::string("timeout 60 " MYXTTS_PROGRAM " synthesize --model ") +
                              file("model") + " --reference " + file("me.wav") +
                              " --language en --text Hi. --stream --out - > " + terminal.name() +
                              " 2> " + file("err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(contents_of(file("err")).find("which a terminal cannot play"), std::string::npos)
      << contents_of(file("err"));
}

TEST_F(AtATerminal, ATerminalIsToldWhatToTypeAndHowToEndIt) {
  const Terminal terminal;
  const std::string command = std::string("timeout 60 " MYXTTS_PROGRAM " synthesize --model ") +
                              file("model") + " --reference " + file("me.wav") +
                              " --language en --threads 1 --text-file - --join --out " +
                              file("typed.wav") + " < " + terminal.name() + " 2> " + file("err");
  std::ofstream(file("err"));  // so that it can be looked at before the program has begun
  int status = -1;
  std::jthread program([&] { status = std::system(command.c_str()); });
  const std::string words = "type what to say, a text on each line, and Ctrl-D at the end";
  const auto is_told = [&] { return contents_of(file("err")).find(words) != std::string::npos; };
  for (int i = 0; i < 1200 && !is_told(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(is_told()) << contents_of(file("err"));
  const std::string typed = "Hi.\nHello.\n\x04";
  EXPECT_EQ(::write(terminal.end(), typed.data(), typed.size()), std::ssize(typed));
  program.join();
  EXPECT_EQ(WEXITSTATUS(status), 0) << contents_of(file("err"));
  EXPECT_GT(read_audio(file("typed.wav")).frames(), 9600);
}

// What a terminal shows while a file of text is spoken, until it holds `words`; then Ctrl-C ends
// it.
std::string shown_until(const std::string& words, const std::vector<std::string>& command) {
  const Terminal terminal;
  const int screen = open(terminal.name().c_str(), O_RDWR | O_NOCTTY);
  const pid_t program = fork();
  if (program == 0) {
    dup2(screen, STDERR_FILENO);
    std::vector<char*> arguments = {const_cast<char*>("myxtts")};
    for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(MYXTTS_PROGRAM, arguments.data());
    _exit(127);
  }
  close(screen);
  std::string shown;
  std::array<char, 4096> some{};
  const auto read_on = [&] {
    const auto count = ::read(terminal.end(), some.data(), some.size());
    shown.append(some.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return count > 0;  // until the program has ended
  };
  while (shown.find(words) == std::string::npos && read_on()) {
  }
  kill(program, SIGINT);
  const std::string until = shown;
  while (read_on()) {
  }
  waitpid(program, nullptr, 0);
  return until;
}

// Codes are counted without an end in sight; the pieces of a long text show how far it is. A short
// one is over before other work would show anything, and is shown all the same: somebody waits.
TEST_F(AtATerminal, SpeakingIsShownFromTheStartAndOfALongLineHowManyOfItsPiecesAreSpoken) {
  const std::vector<std::string> speak = {
      "synthesize", "--model", file("model"), "--reference", file("me.wav"),   "--language", "en",
      "--threads",  "1",       "--join",      "--out",       file("line.wav"), "--text-file"};
  const std::string line = "There was a small house at the end of the road. ";
  for (const auto& [words, times] : {std::pair("Speaking (codes)", 1), std::pair(" pieces", 400)}) {
    std::ofstream text(file("line.txt"));
    for (int i = 0; i < times; ++i) text << line;
    text.close();
    std::vector<std::string> command = speak;
    command.push_back(file("line.txt"));
    const std::string shown = shown_until(words, command);
    EXPECT_NE(shown.find(words), std::string::npos) << shown;
  }
}

}  // namespace
}  // namespace myxtts::test::terminal_test
