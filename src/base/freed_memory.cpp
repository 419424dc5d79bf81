// SPDX-License-Identifier: Apache-2.0
#include "base/freed_memory.h"

#include <malloc.h>

namespace myxtts {

void keep_freed_memory() {
#ifdef M_MMAP_THRESHOLD                 // glibc's allocator; others do as they like
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest it allows
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace myxtts
