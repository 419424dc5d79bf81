// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/interruption.h"
#include "cli/flags.h"
#include "synth/sampling.h"
#include "synth/speaking.h"

namespace myxtts {

// The things that `synthesize` does: speaking texts here, having a server speak them, playing what
// was spoken, and saying recorded clips again. Each but the first has its file.

// The environment variable with the key of --server: others can see a command line.
inline constexpr const char* kServerKey = "MYXTTS_API_KEY";

// What `synthesize` was asked for.
struct SpeakingFlags {
  std::filesystem::path model;
  std::string server;  // its URL; empty: the model is loaded here
  std::string language;
  std::optional<std::string> text;
  std::filesystem::path text_file;  // "-": standard input
  bool join = false;
  std::filesystem::path lexicon;
  std::filesystem::path resynthesize;
  std::filesystem::path out;
  std::filesystem::path dump;

  std::vector<std::filesystem::path> references;
  std::filesystem::path voice;
  std::string speaker;
  std::filesystem::path save_voice;
  ReferenceFlags reference;
  std::optional<double> trim_db;

  SamplingChoice sampling;
  double speed = 1.0;

  bool play = false;
  bool stream = false;
  std::int64_t stream_chunk = 20;
  std::int64_t batch = 8;
  DeviceFlags device;
};

// What --resynthesize names is a corpus or a manifest, and not one clip.
bool holds_many_clips(const std::filesystem::path& path);

// --out names a folder, which holds a file for each text.
bool goes_into_folder(const SpeakingFlags& flags);

// The flags outlive the app.
void declare_speaking_flags(CLI::App& app, SpeakingFlags& flags);

// Throws ConfigError for flags that do not go together or values that cannot be, and DataError
// where what is to be written cannot be.
void check(const SpeakingFlags& flags);

// Throws DataError for files that are not there, with the flag that names them.
void require_inputs(const SpeakingFlags& flags);

// A text as the pieces that it is spoken in; none where there is nothing to say. `subject` says
// where it stands.
using CutText = std::function<TextPieces(const std::string& text, const std::string& subject)>;

// What --text or --text-file asks for, each text with the file it goes to; blank lines are left
// out. Throws DataError, and ConfigError when nothing is left or an id names no file.
std::vector<SpeakingJob> jobs_of(const SpeakingFlags& flags, const CutText& cut);

// --server: the same by a model that is loaded already. The exit code.
int synthesize_remotely(const SpeakingFlags& flags);

// --play: throws ConfigError where no program is in PATH that plays sound.
void require_player();

// --play: plays the files of the jobs, one after another, and waits for their end. The exit code.
// Throws DataError where no player could.
int play(const std::vector<SpeakingJob>& jobs, const Interruption& interruption);

// --resynthesize: says recorded clips again through DVAE, GPT and decoder into a folder. The exit
// code. Throws DataError when a clip could not be said; the others are there then.
int resynthesize(const SpeakingFlags& flags);

}  // namespace myxtts
