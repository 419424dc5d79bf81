// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cmath>

#include <gtest/gtest.h>

#include "support/captured_screen.h"
#include "support/fake_clock.h"

namespace myxtts::progress_test {
namespace {

using namespace std::chrono_literals;
using test::CapturedScreen;
using test::FakeClock;
using test::seen_on_terminal;
using Unit = ProgressOptions::Unit;

constexpr ScreenAbilities kPlain{.terminal = false, .colours = false, .progress = true};
constexpr ScreenAbilities kTerminal{.terminal = true, .colours = false, .progress = true};

TEST(Progress, ShowsNothingForWorkShorterThanTwoSeconds) {
  for (const auto& abilities : {kPlain, kTerminal}) {
    CapturedScreen captured(80);
    Screen screen(captured.file(), abilities);
    FakeClock clock;
    {
      Progress progress({.title = "Reading", .total = 10}, screen, clock);
      clock.advance(1999ms);
      progress.advance(10);
    }
    EXPECT_EQ(captured.take(), "");
  }
}

TEST(Progress, WhereAPersonWaitsATerminalShowsItFromTheStartAndKeepsNoLineOfShortWork) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  FakeClock clock;
  {
    Progress progress({.title = "Speaking", .total = 10, .at_once = true}, screen, clock);
    clock.advance(100ms);
    progress.advance(5);
    EXPECT_NE(seen_on_terminal(captured.take()).find("50 %"), std::string::npos);
    clock.advance(100ms);
  }
  EXPECT_EQ(captured.take().find("Speaking:"), std::string::npos);
}

TEST(Progress, ShowsNothingWhenItIsNotWanted) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), {.terminal = true, .colours = true, .progress = false});
  FakeClock clock;
  {
    Progress progress({.title = "Reading", .total = 10}, screen, clock);
    clock.advance(1h);
    progress.advance(10);
  }
  EXPECT_EQ(captured.take(), "");
}

TEST(Progress, ATerminalGetsABarThatIsRedrawnInPlaceAndLeavesASummary) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  FakeClock clock;
  {
    Progress progress({.title = "Reading clips", .total = 4000}, screen, clock);
    clock.advance(10s);
    progress.advance(1000);
    EXPECT_EQ(seen_on_terminal(captured.take()),
              "Reading clips [=====                 ]  25 %  1,000 of 4,000  100/s  30 s left");
    clock.advance(10s);
    progress.advance(1000);
    const std::string second = captured.take();
    EXPECT_EQ(seen_on_terminal(second),
              "Reading clips [===========           ]  50 %  2,000 of 4,000  100/s  20 s left");
    EXPECT_EQ(second.find('\n'), std::string::npos);
    clock.advance(20s);
    progress.advance(2000);
    captured.take();
  }
  EXPECT_EQ(seen_on_terminal(captured.take()), "Reading clips: 4,000 in 40 s (100/s)\n");
}

TEST(Progress, ATerminalIsDrawnAtMostTenTimesASecond) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  FakeClock clock;
  Progress progress({.title = "Reading", .total = 4000}, screen, clock);
  clock.advance(2s);
  for (int i = 0; i < 1000; ++i) {
    progress.advance();
    clock.advance(1ms);
  }
  const std::string bytes = captured.take();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), '\r'), 10);
}

TEST(Progress, APlainFileGetsALineEveryFiveSecondsWithoutControlCharacters) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  {
    Progress progress({.title = "Unpacking", .total = 3'000'000, .unit = Unit::Bytes}, screen,
                      clock);
    for (int second = 0; second < 9; ++second) {
      clock.advance(1s);
      progress.advance(100'000);
    }
  }
  EXPECT_EQ(captured.take(),
            "Unpacking:   6 %  200 kB of 3.0 MB  100 kB/s  28 s left\n"
            "Unpacking:  23 %  700 kB of 3.0 MB  100 kB/s  23 s left\n"
            "Unpacking: 900 kB of 3.0 MB in 9.0 s (100 kB/s)\n");
}

TEST(Progress, AClockThatEndsTheWorkBeforeItIsDoneGivesTheTimeLeft) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  Progress progress({.title = "Training", .total = 2000, .deadline = clock.now() + 100s}, screen,
                    clock);
  clock.advance(10s);
  progress.advance(20);
  const std::string shown = captured.take();
  EXPECT_NE(shown.find("1 min 30 s left"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" 10 %"), std::string::npos) << shown;
  clock.advance(10s);
  progress.advance(1880);  // the work ends first
  EXPECT_NE(captured.take().find("2.0 s left"), std::string::npos);
}

TEST(Progress, AnUnknownTotalShowsWhatIsKnown) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  FakeClock clock;
  Progress progress({.title = "Scanning"}, screen, clock);
  clock.advance(4s);
  progress.advance(6);
  EXPECT_EQ(seen_on_terminal(captured.take()), "Scanning: 6  1.5/s");
}

TEST(Progress, ATotalThatWasTooLowNeverShowsMoreThanHundredPercent) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  Progress progress({.title = "Reading", .total = 10}, screen, clock);
  clock.advance(4s);
  progress.advance(20);
  EXPECT_EQ(captured.take(), "Reading: 100 %  20 of 20  5.0/s  0 s left\n");
}

TEST(Progress, NeverReachesTheLastColumnOfANarrowTerminal) {
  for (const int width : {10, 24, 40, 60, 61, 62, 70, 200}) {
    CapturedScreen captured(width);
    Screen screen(captured.file(), kTerminal);
    FakeClock clock;
    Progress progress({.title = "خواندن فایل‌ها", .total = 4000}, screen, clock);
    clock.advance(10s);
    progress.advance(1000);
    const std::string seen = seen_on_terminal(captured.take());
    const auto columns = std::count_if(seen.begin(), seen.end(), [](char byte) {
      return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    });
    EXPECT_LT(columns, width) << seen;
    EXPECT_NE(static_cast<unsigned char>(seen.back()) & 0xC0, 0xC0) << "cut in a character";
  }
}

TEST(Progress, AnExceptionTakesTheBarAwayWithoutASummary) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  FakeClock clock;
  try {
    Progress progress({.title = "Reading", .total = 10}, screen, clock);
    clock.advance(3s);
    progress.advance();
    throw std::runtime_error("the disk broke");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(seen_on_terminal(captured.take()), "");
}

TEST(Progress, ColoursAppearOnlyWhereTheScreenHasThem) {
  for (const bool colours : {false, true}) {
    CapturedScreen captured(80);
    Screen screen(captured.file(), {.terminal = true, .colours = colours, .progress = true});
    FakeClock clock;
    Progress progress({.title = "Reading", .total = 10}, screen, clock);
    clock.advance(3s);
    progress.advance(5);
    EXPECT_EQ(captured.take().find("\x1b[36m") != std::string::npos, colours);
  }
}

TEST(Progress, CountsEveryStepOfSeveralThreads) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  {
    Progress progress({.title = "Reading", .total = 40'000}, screen, clock);
    clock.advance(2s);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) progress.advance();
      });
    }
    for (auto& thread : threads) thread.join();
  }
  const std::string text = captured.take();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("Reading: 40,000 in 2.0 s"), std::string::npos) << text;
}

TEST(Progress, ANoteStandsBehindTheFiguresAndIsReplaced) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  Progress progress({.title = "Training", .total = 10}, screen, clock);
  EXPECT_FALSE(progress.draws_soon());
  clock.advance(5s);
  EXPECT_TRUE(progress.draws_soon());
  progress.set_note({.then = {"loss 3"}});
  progress.advance(5);
  EXPECT_EQ(captured.take(), "Training:  50 %  5 of 10  1.0/s  5.0 s left  loss 3\n");
  clock.advance(5s);
  progress.set_note({.then = {"loss 2"}});
  progress.advance(5);
  EXPECT_EQ(captured.take(), "Training: 100 %  10 of 10  1.0/s  0 s left  loss 2\n");
}

const ProgressNote kLongNote{
    .first = {"loss 4.3210", "ready 99.9 %"},
    .then = {"epoch 3", "lr 5e-06", "data GPU 0: 12 % 1.2 GB", "model GPU 1: 98 % 31.0 GB"}};

TEST(Progress, ATerminalOfEightyColumnsShowsWhatMattersAndAWiderOneMore) {
  for (const int width : {80, 200}) {
    CapturedScreen captured(width);
    Screen screen(captured.file(), kTerminal);
    FakeClock clock;
    Progress progress({.title = "Training", .total = 100'000}, screen, clock);
    clock.advance(200s);
    progress.set_note(kLongNote);
    progress.advance(45'000);
    const std::string seen = seen_on_terminal(captured.take());
    const bool is_wide = width > 80;
    EXPECT_EQ(seen.find("model GPU 1: 98 % 31.0 GB") != std::string::npos, is_wide) << seen;
    if (!is_wide) {
      EXPECT_EQ(seen, "Training:  45 %  4 min 05 s left  loss 4.3210  ready 99.9 %  225/s")
          << "whole figures, and no more than fit";
    }
  }
}

// Small counts would fit, and take its room.
TEST(Progress, ATerminalOfEightyColumnsDrawsTheCurveRatherThanTheCount) {
  CapturedScreen captured(80);
  Screen screen(captured.file(), kTerminal);
  FakeClock clock;
  Progress progress({.title = "Training", .total = 100}, screen, clock);
  clock.advance(200s);
  progress.set_note({.first = {"loss 4.32", "val 4.1", "ready 99.9 %"},
                     .then = {"epoch 3"},
                     .curve = {8, 7, 6, 5, 4, 3, 2, 1}});
  progress.advance(45);
  EXPECT_EQ(seen_on_terminal(captured.take()),
            "Training:  45 %  4 min 05 s left  loss 4.32  val 4.1  ready 99.9 %  0.2/s  #+-_");
}

TEST(Progress, PlainLinesHaveEightyColumnsAndLoseNothing) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  Progress progress({.title = "Training", .total = 100'000}, screen, clock);
  clock.advance(200s);
  progress.set_note(kLongNote);
  progress.advance(45'000);
  EXPECT_EQ(captured.take(),
            "Training:  45 %  4 min 05 s left  loss 4.3210  ready 99.9 %  225/s\n"
            "    45,000 of 100,000  epoch 3  lr 5e-06  data GPU 0: 12 % 1.2 GB\n"
            "    model GPU 1: 98 % 31.0 GB\n");
}

TEST(Progress, WhatWasDoneBeforeCountsAsDoneButNotInTheRate) {
  CapturedScreen captured(0);
  Screen screen(captured.file(), kPlain);
  FakeClock clock;
  Progress progress({.title = "Training", .total = 100, .done_before = 80}, screen, clock);
  clock.advance(5s);
  progress.advance(10);
  EXPECT_EQ(captured.take(), "Training:  90 %  90 of 100  2.0/s  5.0 s left\n");
}

TEST(Sparkline, DrawsTheHighestAndTheLowestAtTheirPlaces) {
  const std::vector<double> falling = {8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(sparkline(falling, 8, true), "█▇▆▅▄▃▂▁");
  EXPECT_EQ(sparkline(falling, 8, false), "#*+=:-._");
  EXPECT_EQ(sparkline(falling, 2, true), "█▁") << "means of halves";
  EXPECT_EQ(sparkline(falling, 100, true), "█▇▆▅▄▃▂▁") << "no more than there are";
  EXPECT_EQ(sparkline(std::vector<double>{3, 3, 3}, 3, true), "▁▁▁");
  EXPECT_EQ(sparkline(std::vector<double>{NAN, 1, INFINITY, 2}, 9, true), "▁█");
  EXPECT_EQ(sparkline({}, 9, true), "");
  EXPECT_EQ(sparkline(falling, 0, true), "");
}

}  // namespace
}  // namespace myxtts::progress_test
