// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/clip.h"

namespace myxtts {

// What the file or folder is now; size -1 where there is none.
FileStamp stamp_of(const std::string& path);

}  // namespace myxtts
