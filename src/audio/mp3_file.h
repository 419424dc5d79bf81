// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/files.h"

namespace myxtts {

// What stands in an open MP3 besides its sound. None of these moves the file's position.

// How many bytes it promises beyond its end by the tag that its encoder left; 0: none.
std::int64_t missing_bytes_of_mp3(int file, std::int64_t size);

// Whether it begins with a tag that counts its frames, so that its length is known without decoding
// it.
bool has_frame_count(int file);

// libsndfile stops reading an MP3 without such a count where the first frame's bit rate would have
// it end, which may be long before the last frame. Gives a copy in memory that begins with a count
// of at least its frames; nothing for a file that needs none. Throws DataError without memory.
std::optional<OpenFile> with_frame_count(int file, std::int64_t size);

}  // namespace myxtts
