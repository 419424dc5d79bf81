// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace myxtts {

// A shared library that is opened while the program runs, for what the program can start without.
//
// Whether it could be opened is a value, not an exception: the caller knows what to say about it.
class DynamicLibrary {
 public:
  // Opens `name`: a path, or a bare name that the loader searches for.
  explicit DynamicLibrary(const std::string& name);
  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&&) = delete;
  ~DynamicLibrary();

  bool is_open() const { return handle_ != nullptr; }

  // The loader's own words for why the library is not open; empty when it is.
  const std::string& reason() const { return reason_; }

  // The file the loader took; empty when the library is not open.
  std::string path() const;

  // The library's function `symbol`, or null when it has none of that name (or is not open).
  template <typename Function>
  Function function(const char* symbol) const {
    return reinterpret_cast<Function>(address(symbol));
  }

  // Leaves the library open until the process ends, also when this object goes.
  void keep_open() { closes_ = false; }

 private:
  void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string reason_;
  bool closes_ = true;
};

// What starts this program again: the launcher of a package that brings its own loader, which names
// itself in MYXTTS_LAUNCHER, else this process' own file.
std::string own_program();

// The folder that this library lies in, or the program where it is not a library; empty: unknown.
std::filesystem::path library_folder();

// The folder `name` of a kind of data ("text", "sound") that tools/setup fetches: looked for in the
// folder that the environment variable `variable` names, else beside the program
// (share/myxtts/KIND), then in the checkout it was built in (.deps/KIND).
std::optional<std::filesystem::path> find_data(std::string_view kind, std::string_view name,
                                               const char* variable);

// Lets the process keep what it frees for its next use, up to a bound. Buffers of a megabyte come
// and go with every clip; handed back to the system each time, they come again as pages that must
// be cleared one by one, which costs more than decoding a WAV. Call it once, first thing in main().
void keep_freed_memory();

}  // namespace myxtts
