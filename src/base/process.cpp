// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace myxtts {

DynamicLibrary::DynamicLibrary(const std::string& name)
    // Global: a plugin's own libraries must see the symbols of those opened before them.
    : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
  if (handle_ != nullptr) return;
  const char* said = dlerror();
  reason_ = said != nullptr ? said : name + " could not be opened";
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      reason_(std::move(other.reason_)),
      closes_(other.closes_) {}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr && closes_) dlclose(handle_);
}

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return {};
  return map->l_name;
}

void* DynamicLibrary::address(const char* symbol) const {
  return handle_ != nullptr ? dlsym(handle_, symbol) : nullptr;
}

std::string own_program() {
  const char* launcher = std::getenv("MYXTTS_LAUNCHER");
  return launcher != nullptr ? launcher : std::filesystem::read_symlink("/proc/self/exe").string();
}

std::filesystem::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0) return {};
  std::error_code failure;
  return std::filesystem::canonical(info.dli_fname, failure).parent_path();
}

std::optional<std::filesystem::path> find_data(std::string_view kind, std::string_view name,
                                               const char* variable) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  if (const char* given = std::getenv(variable)) {
    places.emplace_back(given);
  } else if (const fs::path library = library_folder(); !library.empty()) {
    places.push_back(library.parent_path() / "share/myxtts" / kind);
    places.push_back(library.parent_path().parent_path().parent_path() / ".deps" / kind);
  }
  for (const auto& place : places) {
    std::error_code failure;
    if (fs::is_directory(place / name, failure)) return place / name;
  }
  return std::nullopt;
}

void keep_freed_memory() {
#ifdef M_MMAP_THRESHOLD                 // glibc's allocator; others do as they like
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest it allows
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace myxtts
