// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <cstdint>

#include <fmt/format.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

namespace myxtts {
namespace {

// The library that was loaded, which need not be the one that was compiled against.
std::string libtorch_version() {
  const std::uint64_t packed = aoti_torch_abi_version();  // major, minor, patch in the top bytes
  const auto byte = [packed](unsigned index) { return packed >> (56U - 8U * index) & 0xffU; };
  return fmt::format("{}.{}.{}", byte(0), byte(1), byte(2));
}

}  // namespace

std::string describe_version() {
  return fmt::format("myxtts {}\nLibTorch {}\n", MYXTTS_VERSION, libtorch_version());
}

}  // namespace myxtts
