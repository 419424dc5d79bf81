// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/captured_screen.h"

namespace myxtts::screen_test {
namespace {

using test::CapturedScreen;
using test::seen_on_terminal;

constexpr ScreenAbilities kTerminal{.terminal = true, .colours = false, .progress = true};

TEST(Screen, ALineGoesAboveTheBarAndDoesNotTearIt) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  const int owner = 0;
  screen.draw_bar(&owner, "half done");
  screen.write_line("a line");
  EXPECT_EQ(seen_on_terminal(captured.take()), "a line\nhalf done");
  screen.remove_bar(&owner);
  screen.write_line("another");
  EXPECT_EQ(seen_on_terminal(captured.take()), "another\n");
}

TEST(Screen, TheOuterOfTwoBarsStays) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  const int outer = 0;
  const int inner = 0;
  screen.draw_bar(&outer, "outer");
  screen.draw_bar(&inner, "inner");
  screen.remove_bar(&inner);
  EXPECT_EQ(seen_on_terminal(captured.take()), "outer");
}

TEST(Screen, LinesOfSeveralThreadsStayWhole) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kTerminal);
  const int owner = 0;
  const std::string line(60, 'x');
  const auto write = [&] {
    for (int i = 0; i < 100; ++i) screen.write_line(line);
  };
  std::thread one(write);
  std::thread two(write);
  for (int i = 0; i < 100; ++i) screen.draw_bar(&owner, "bar");
  one.join();
  two.join();
  screen.remove_bar(&owner);
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += line + "\n";
  EXPECT_EQ(seen_on_terminal(captured.take()), expected);
}

TEST(Screen, KnowsATerminalAndItsWidth) {
  CapturedScreen terminal(123);
  CapturedScreen file(0);
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_EQ(Screen(terminal.file(), kTerminal).width(), 123);
  EXPECT_EQ(Screen(file.file(), kTerminal).width(), 80);
  EXPECT_TRUE(ScreenAbilities::of(terminal.file(), true).terminal);
  EXPECT_TRUE(ScreenAbilities::of(terminal.file(), true).colours);
  EXPECT_FALSE(ScreenAbilities::of(file.file(), true).terminal);
  EXPECT_FALSE(ScreenAbilities::of(file.file(), true).colours);
}

TEST(Screen, NoColorAndADumbTerminalAreHonoured) {
  CapturedScreen terminal(80);
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(ScreenAbilities::of(terminal.file(), true).terminal);
  EXPECT_FALSE(ScreenAbilities::of(terminal.file(), true).colours);
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(ScreenAbilities::of(terminal.file(), true).colours) << "empty counts as not set";
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(ScreenAbilities::of(terminal.file(), true).terminal);
}

}  // namespace
}  // namespace myxtts::screen_test
