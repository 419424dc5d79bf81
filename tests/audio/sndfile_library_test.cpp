// SPDX-License-Identifier: Apache-2.0
#include "audio/sndfile_library.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::sndfile_library_test {
namespace {

// Each case runs in a process of its own under CTest, so the library is not open yet; a run of the
// whole binary keeps this order.
std::string failure_with(const char* library) {
  setenv("MYXTTS_SNDFILE_LIBRARY", library, 1);
  std::string message;
  try {
    sndfile_library();
  } catch (const DataError& error) {
    message = error.what();
  }
  unsetenv("MYXTTS_SNDFILE_LIBRARY");
  return message;
}

TEST(SndfileLibrary, AMissingLibraryIsADataErrorThatSaysWhatToInstall) {
  const std::string message = failure_with("libabsent-sound.so.1");
  EXPECT_NE(message.find("libabsent-sound.so.1"), std::string::npos) << message;
  EXPECT_NE(message.find("apt install libsndfile1"), std::string::npos) << message;
}

TEST(SndfileLibrary, ALibraryWithoutTheFunctionsIsNamedWithTheFirstOneItLacks) {
  const std::string message = failure_with("libm.so.6");
  EXPECT_NE(message.find("libm.so.6"), std::string::npos) << message;
  EXPECT_NE(message.find("sf_open"), std::string::npos) << message;
}

TEST(SndfileLibrary, TheInstalledLibrarySaysItsVersionAndFile) {
  const SndfileLibrary& library = sndfile_library();
  EXPECT_EQ(std::string(library.version_string()).rfind("libsndfile-", 0), 0u);
  EXPECT_NE(library.path.find("libsndfile.so.1"), std::string::npos) << library.path;
  EXPECT_EQ(&library, &sndfile_library());
}

}  // namespace
}  // namespace myxtts::sndfile_library_test
