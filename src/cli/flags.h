// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "cli/command.h"
#include "config/model_json.h"
#include "http/access.h"
#include "model/reference_voice.h"

namespace myxtts {

// Flags that several commands have alike; those of a run's configuration are in config_flags.h.

// Where a model speaks: --device, --model-gpu and --threads.
struct DeviceFlags {
  std::string device = "auto";
  std::optional<std::int64_t> model_gpu;
  std::optional<int> threads;
};

// The flags outlive the app.
void declare_device_flags(CLI::App& app, DeviceFlags& flags);

// Throws ConfigError for values that cannot be.
void check(const DeviceFlags& flags);

// Takes the threads and opens the device that the flags name. Throws ConfigError or DeviceError.
c10::Device open_device(const DeviceFlags& flags);

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

// Where a server listens and whom it lets in: the flags that serve and watch have alike.
struct AccessFlags {
  ListenOptions listen;
  std::filesystem::path key_file = {};  // with more keys
  bool no_key = false;
};

inline constexpr const char* kAccessGroup = "Access";

// `flags` holds the default of --port, and outlives the command line.
void declare_access_flags(CLI::App& app, AccessFlags& flags);

// Throws ConfigError for what is out of range.
void check_access_flags(const AccessFlags& flags);
void require_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most);

// Whoever can reach the address must have a key, unless everybody was let in. Reads the file of
// keys. Throws ConfigError, DataError.
ListenOptions listen_options(const AccessFlags& flags);

}  // namespace myxtts
