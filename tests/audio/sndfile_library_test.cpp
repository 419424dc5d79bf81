// SPDX-License-Identifier: Apache-2.0
#include "audio/sndfile_library.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::sndfile_library_test {
namespace {

// What opening says in a process of its own: in this one the library may be open already.
void fail_with(const char* library) {
  setenv("MYXTTS_SNDFILE_LIBRARY", library, 1);
  try {
    sndfile_library();
  } catch (const DataError& error) {
    std::cerr << error.what();
    std::exit(0);
  }
  std::exit(1);
}

class SndfileLibraryFaults : public testing::Test {
 protected:
  SndfileLibraryFaults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SndfileLibraryFaults, AMissingLibraryIsADataErrorThatSaysWhatToInstall) {
  EXPECT_EXIT(fail_with("libabsent-sound.so.1"), testing::ExitedWithCode(0),
              "libabsent-sound\\.so\\.1.*apt install libsndfile1");
}

TEST_F(SndfileLibraryFaults, ALibraryWithoutTheFunctionsIsNamedWithTheFirstOneItLacks) {
  EXPECT_EXIT(fail_with("libm.so.6"), testing::ExitedWithCode(0), "libm\\.so\\.6.*sf_open");
}

TEST(SndfileLibrary, TheInstalledLibrarySaysItsVersionAndFile) {
  const SndfileLibrary& library = sndfile_library();
  EXPECT_EQ(std::string(library.version_string()).rfind("libsndfile-", 0), 0u);
  EXPECT_NE(library.path.find("libsndfile.so.1"), std::string::npos) << library.path;
  EXPECT_EQ(&library, &sndfile_library());
}

}  // namespace
}  // namespace myxtts::sndfile_library_test
