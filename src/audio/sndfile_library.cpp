// SPDX-License-Identifier: Apache-2.0
#include "audio/sndfile_library.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/process.h"

namespace myxtts {
namespace {

constexpr const char* kRemedy = "Type: apt install libsndfile1";

std::string library_name() {
  const char* chosen = std::getenv("MYXTTS_SNDFILE_LIBRARY");
  return chosen != nullptr && *chosen != '\0' ? chosen : "libsndfile.so.1";
}

template <typename Function>
void resolve(const DynamicLibrary& library, const char* symbol, Function& function) {
  function = library.function<Function>(symbol);
  if (function == nullptr) {
    throw DataError(
        fmt::format("The sound library {} has no function {}: it is too old or not libsndfile. {}",
                    library.path(), symbol, kRemedy));
  }
}

SndfileLibrary open_library() {
  DynamicLibrary library(library_name());
  if (!library.is_open()) {
    const std::string full = std::generic_category().message(EMFILE);  // it is there
    const bool is_missing = library.reason().find(full) == std::string::npos;
    throw DataError(
        fmt::format("The sound library libsndfile cannot be opened, so no audio file can be read "
                    "or written: {}.{}",
                    library.reason(), is_missing ? fmt::format(" {}", kRemedy) : ""));
  }
  SndfileLibrary functions{};
  resolve(library, "sf_open", functions.open);
  resolve(library, "sf_open_fd", functions.open_fd);
  resolve(library, "sf_open_virtual", functions.open_virtual);
  resolve(library, "sf_close", functions.close);
  resolve(library, "sf_seek", functions.seek);
  resolve(library, "sf_readf_float", functions.readf_float);
  resolve(library, "sf_readf_short", functions.readf_short);
  resolve(library, "sf_writef_float", functions.writef_float);
  resolve(library, "sf_writef_short", functions.writef_short);
  resolve(library, "sf_error", functions.error);
  resolve(library, "sf_strerror", functions.strerror);
  resolve(library, "sf_error_number", functions.error_number);
  resolve(library, "sf_format_check", functions.format_check);
  resolve(library, "sf_command", functions.command);
  resolve(library, "sf_version_string", functions.version_string);
  functions.path = library.path();
  library.keep_open();
  return functions;
}

}  // namespace

const SndfileLibrary& sndfile_library() {
  static const SndfileLibrary library = open_library();  // tried again where it threw
  return library;
}

}  // namespace myxtts
