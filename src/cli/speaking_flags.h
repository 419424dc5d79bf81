// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/device_flags.h"
#include "config/model_json.h"
#include "model/reference_voice.h"
#include "synth/sampling.h"

namespace myxtts {

// How much of reference clips is listened to, in seconds, where the user says so.
struct ReferenceFlags {
  std::optional<double> cond_len;
  std::optional<double> cond_chunk;
  std::optional<double> max_ref_len;
};

// Adds --cond-len, --cond-chunk and --max-ref-len. The flags outlive the app.
void declare_reference_flags(CLI::App& app, ReferenceFlags& flags);

// What the flags say, and the model's config where they say nothing. Throws ConfigError.
ReferenceLengths reference_lengths(const ReferenceFlags& flags, const ReferenceConfig& of_model,
                                   std::int64_t sample_rate);

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

}  // namespace myxtts
