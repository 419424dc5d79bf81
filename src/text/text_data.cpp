// SPDX-License-Identifier: Apache-2.0
#include "text/text_data.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace myxtts {
namespace {

namespace fs = std::filesystem;

fs::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_text_data), &info) == 0) return {};
  std::error_code failure;
  return fs::canonical(info.dli_fname, failure).parent_path();
}

}  // namespace

std::optional<fs::path> find_text_data(std::string_view name) {
  std::vector<fs::path> places;
  if (const char* given = std::getenv("MYXTTS_TEXT_DATA")) {
    places.emplace_back(given);
  } else if (const fs::path library = library_folder(); !library.empty()) {
    places.push_back(library.parent_path() / "share/myxtts/text");
    places.push_back(library.parent_path().parent_path().parent_path() / ".deps/text");
  }
  for (const auto& place : places) {
    std::error_code failure;
    if (fs::is_directory(place / name, failure)) return place / name;
  }
  return std::nullopt;
}

}  // namespace myxtts
