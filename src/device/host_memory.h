// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace myxtts {

// Host memory that knows how to give itself back; page-locked where a GPU copies from it.
using HostMemory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

}  // namespace myxtts
