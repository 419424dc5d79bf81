// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/event.h"

namespace myxtts {

// An event that takes the time. It belongs to the device of the stream it is recorded on, which
// messages call `device`.
Event make_cuda_event(std::string device);

}  // namespace myxtts
