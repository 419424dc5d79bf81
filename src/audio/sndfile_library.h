// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <sndfile.h>

namespace myxtts {

// libsndfile's functions, as the library that was opened at run time has them. Types and constants
// come from <sndfile.h>; call these pointers, not the functions of that header: nothing links them.
struct SndfileLibrary {
  decltype(&::sf_open) open;
  decltype(&::sf_open_fd) open_fd;
  decltype(&::sf_open_virtual) open_virtual;
  decltype(&::sf_close) close;
  decltype(&::sf_seek) seek;
  decltype(&::sf_readf_float) readf_float;
  decltype(&::sf_readf_short) readf_short;
  decltype(&::sf_writef_float) writef_float;
  decltype(&::sf_writef_short) writef_short;
  decltype(&::sf_error) error;
  decltype(&::sf_strerror) strerror;
  decltype(&::sf_error_number) error_number;
  decltype(&::sf_format_check) format_check;
  decltype(&::sf_command) command;
  decltype(&::sf_version_string) version_string;

  std::string path;  // the file the loader took
};

// Opens libsndfile on the first call and keeps it open. Throws DataError with what to type when it
// is not installed or too old to have one of the functions. Safe from any thread.
//
// The environment variable MYXTTS_SNDFILE_LIBRARY names another file to open.
const SndfileLibrary& sndfile_library();

}  // namespace myxtts
