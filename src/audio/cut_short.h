// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// How many bytes of sound an open file promises beyond its end: a WAV by its header, an MP3 by the
// tag that its encoder left, an OGG by its last page. 0 for a whole file, for one whose writer
// could not know the length (a pipe) and for formats that promise nothing or where only decoding
// shows it (FLAC). Leaves the file's position alone.
//
// libsndfile reads what is there and says nothing, and a clip whose text goes on where its sound
// was cut off would teach a model to skip words.
std::int64_t missing_bytes(int file, std::int64_t size);

// Whether an MP3 begins with a tag that counts its frames, so that its length is known without
// decoding it.
bool has_frame_count(int file);

}  // namespace myxtts
