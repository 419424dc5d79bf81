// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "data/clip_decoder.h"
#include "data/corpus.h"
#include "data/skip_list.h"

namespace myxtts {

// The root of the mean square, in dB below full scale: 0 is a square wave at full scale. Silence
// gives -100.
double loudness_db(std::span<const std::int16_t> samples);

// Decodes each of `clips` once, with `workers` threads and a progress bar, and hands it to `visit`,
// which any of them may call at any time. Files whose sound is bad go to `skipped` instead. Throws
// what `visit` or `skipped` throws.
void survey_clips(const Corpus& corpus, std::span<const ClipNumber> clips, std::size_t workers,
                  const std::function<void(std::size_t place, const DecodedClip& clip)>& visit,
                  SkipList& skipped);

}  // namespace myxtts
