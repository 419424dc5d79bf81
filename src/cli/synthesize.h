// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/speaking_flags.h"
#include "synth/speaking.h"

namespace myxtts {

// The three things that `synthesize` does: speaking texts here, having a server speak them, and
// saying recorded clips again. Each of the latter two has its file.

// A text as the pieces that it is spoken in; none where there is nothing to say.
using CutText = std::function<std::vector<TextPiece>(const std::string&)>;

// What --text or --text-file asks for, each text with the file it goes to; blank lines are left
// out. Throws DataError, and ConfigError when nothing is left or an id names no file.
std::vector<SpeakingJob> jobs_of(const SpeakingFlags& flags, const CutText& cut);

// --server: the same by a model that is loaded already. The exit code.
int synthesize_remotely(const SpeakingFlags& flags);

// --resynthesize: says recorded clips again through DVAE, GPT and decoder into a folder. The exit
// code. Throws DataError when a clip could not be said; the others are there then.
int resynthesize(const SpeakingFlags& flags);

}  // namespace myxtts
