// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/measure.h"

#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include <filesystem>

namespace myxtts {
namespace {

// The library lists how it was built as "..., TORCH_VERSION=2.11.0, ...".
std::string loaded_version() {
  const std::string config = at::show_config();
  const std::string key = "TORCH_VERSION=";
  const auto start = config.find(key);
  if (start == std::string::npos) return {};
  const auto end = config.find_first_of(", \n", start);
  return config.substr(start + key.size(), end - start - key.size());
}

std::string loaded_from() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::show_config), &info) == 0) return {};
  std::error_code unreadable;
  const auto resolved = std::filesystem::canonical(info.dli_fname, unreadable);
  return unreadable ? info.dli_fname : resolved.string();
}

}  // namespace

LibraryFacts libtorch_facts() {
  return {.version = loaded_version(), .built_against = TORCH_VERSION, .path = loaded_from()};
}

}  // namespace myxtts
