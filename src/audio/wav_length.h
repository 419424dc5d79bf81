// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

namespace myxtts {

// How many bytes of sound a WAV file's header promises beyond the file's end; 0 for a whole file,
// for one whose writer could not know the length (a pipe) and for files that are not WAV.
//
// libsndfile reads what is there and says nothing, and a clip whose text goes on where its sound
// was cut off would teach a model to skip words.
std::int64_t missing_wav_bytes(const std::filesystem::path& path);

}  // namespace myxtts
