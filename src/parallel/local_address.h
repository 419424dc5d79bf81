// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace myxtts {

// The address of this host that `host` is reached from, as a number: ranks must listen where the
// others can reach them, and a host's own name often means 127.0.1.1. Throws DeviceError when there
// is no way to `host`.
std::string local_address_towards(const std::string& host, int port);

}  // namespace myxtts
