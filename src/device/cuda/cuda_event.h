// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/event.h"

namespace myxtts {

// An event that takes the time. It belongs to the device of the stream it is recorded on.
Event make_cuda_event();

}  // namespace myxtts
