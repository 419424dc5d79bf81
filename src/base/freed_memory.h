// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts {

// Lets the process keep what it frees for its next use, up to a bound. Buffers of a megabyte come
// and go with every clip; handed back to the system each time, they come again as pages that must
// be cleared one by one, which costs more than decoding a WAV. Call it once, first thing in main().
void keep_freed_memory();

}  // namespace myxtts
