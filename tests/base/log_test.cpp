// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <regex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/captured_screen.h"
#include "support/temporary_folder.h"

namespace myxtts::log_test {
namespace {

using test::CapturedScreen;

// What `action` writes to standard error when that is a terminal (columns > 0) or a file.
std::string standard_error_of(int columns, const std::function<void()>& action) {
  CapturedScreen captured(columns);
  const int before = dup(STDERR_FILENO);
  dup2(captured.file(), STDERR_FILENO);
  action();
  dup2(before, STDERR_FILENO);
  close(before);
  configure_log();
  return captured.take();
}

void log_one_of_each() {
  log_debug("data", "four {}", 4);
  log_info("data", "three {}", 3);
  log_warning("data", "two {}", 2);
  log_error("data", "one {}", 1);
}

TEST(Log, AFileGetsPlainLinesFromTheLevelOn) {
  EXPECT_EQ(standard_error_of(0,
                              [] {
                                configure_log(LogLevel::Debug);
                                log_one_of_each();
                              }),
            "debug: data: four 4\ndata: three 3\nwarning: data: two 2\nerror: data: one 1\n");
  EXPECT_EQ(standard_error_of(0,
                              [] {
                                configure_log(LogLevel::Warning);
                                log_one_of_each();
                              }),
            "warning: data: two 2\nerror: data: one 1\n");
}

TEST(Log, ATerminalGetsColoursUnlessNoColorIsSet) {
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  const auto warn = [] {
    configure_log();
    log_warning("data", "careful");
  };
  EXPECT_EQ(standard_error_of(80, warn), "\x1b[33mwarning:\x1b[0m data: careful\n");
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(standard_error_of(80, warn), "warning: data: careful\n");
  unsetenv("NO_COLOR");
}

TEST(Log, TheLogFileGetsEveryLevelWithTimeStampsAfterWhatItHeld) {
  const test::TemporaryFolder folder;
  for (int run = 0; run < 2; ++run) {
    standard_error_of(0, [&] {
      configure_log(LogLevel::Error, folder / "log.txt");
      log_one_of_each();
    });
  }
  const std::string stamp = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d )";
  const std::string once = stamp + "debug data: four 4\n" + stamp + "info data: three 3\n" + stamp +
                           "warning data: two 2\n" + stamp + "error data: one 1\n";
  const std::string text = test::contents_of(folder / "log.txt");
  EXPECT_TRUE(std::regex_match(text, std::regex(once + once))) << text;
}

TEST(Log, AFileThatIsAddedLaterGetsEveryLevelToo) {
  const test::TemporaryFolder folder;
  standard_error_of(0, [&folder] {
    configure_log(LogLevel::Warning);
    log_info("data", "too early");
    add_log_file(folder / "log.txt");
    log_one_of_each();
  });
  const std::string log = test::contents_of(folder / "log.txt");
  EXPECT_EQ(log.find("too early"), std::string::npos);
  EXPECT_NE(log.find("debug data: four 4"), std::string::npos) << log;
  EXPECT_NE(log.find("error data: one 1"), std::string::npos) << log;
  EXPECT_THROW(add_log_file("/dev/null/folder/log.txt"), DataError);
}

TEST(Log, AQuietThreadSaysErrorsAloneAndOthersEverything) {
  const std::string said = standard_error_of(0, [] {
    configure_log();
    {
      const QuietThread quiet;
      log_one_of_each();
      EXPECT_TRUE(thread_is_quiet());
      std::thread([] { log_info("data", "another thread"); }).join();
    }
    log_info("data", "afterwards");
  });
  EXPECT_EQ(said, "error: data: one 1\ndata: another thread\ndata: afterwards\n");
}

TEST(Log, ALineWhileABarIsDrawnDoesNotTearIt) {
  setenv("TERM", "xterm", 1);
  const std::string bytes = standard_error_of(80, [] {
    configure_log();
    const int owner = 0;
    standard_screen().draw_bar(&owner, "half done");
    log_info("data", "three");
  });
  EXPECT_EQ(test::seen_on_terminal(bytes), "data: three\nhalf done");
}

TEST(Log, QuietTurnsProgressOff) {
  configure_log(LogLevel::Info, {}, /*progress=*/false);
  EXPECT_FALSE(standard_screen().abilities().progress);
  configure_log();
  EXPECT_TRUE(standard_screen().abilities().progress);
}

TEST(Log, AFileThatCannotBeOpenedIsAConfigErrorWithARemedy) {
  const test::TemporaryFolder folder;
  try {
    configure_log(LogLevel::Info, folder.path());
    FAIL() << "a folder was opened as a log file";
  } catch (const ConfigError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(folder.path().string()), std::string::npos) << what;
    EXPECT_NE(what.find("--log-file"), std::string::npos) << what;
  }
}

TEST(Log, AFullDiskUnderTheLogFileIsSaid) {
  const std::string bytes = standard_error_of(0, [] {
    configure_log(LogLevel::Error, "/dev/full");
    log_info("data", "three");
  });
  EXPECT_NE(bytes.find("the log file cannot be written"), std::string::npos) << bytes;
}

TEST(Log, BracesInAMessageAreNotTakenForAFormat) {
  EXPECT_EQ(standard_error_of(0,
                              [] {
                                configure_log();
                                log_info("data", "{}", "{not a format} %v");
                              }),
            "data: {not a format} %v\n");
}

}  // namespace
}  // namespace myxtts::log_test
