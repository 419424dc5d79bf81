// SPDX-License-Identifier: Apache-2.0
// Sound files: our reading of headers, and libsndfile's of the rest. Formats that ffmpeg reads are
// left out: it is another process, with limits on what it writes and how long it runs.
#include <fcntl.h>
#include <unistd.h>

#include "audio/audio_file.h"
#include "audio/ffmpeg.h"
#include "audio/mp3_file.h"
#include "base/files.h"
#include "fuzz/fuzz_input.h"

// libsndfile forgets 6 kB of libvorbis' with each OGG whose header is damaged.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libsndfile\nleak:libvorbis\nleak:libopus\nleak:libFLAC\nleak:libmpg123";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] {
    const auto path = fuzz::file_of(data, size);
    const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    missing_bytes(file.get(), static_cast<std::int64_t>(size));
    has_frame_count(file.get());
    with_frame_count(file.get(), static_cast<std::int64_t>(size));
    if (ffmpeg_format_of(path, file.get()).empty()) read_audio(path);
  });
}
