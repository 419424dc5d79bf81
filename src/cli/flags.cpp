// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/files.h"
#include "device/torch_device.h"

namespace myxtts {
namespace {

constexpr int kMostThreads = 1024;

bool names_gpu(const DeviceFlags& flags) {
  return flags.device == "cuda" || flags.device == "gpu";
}

}  // namespace

void declare_device_flags(CLI::App& app, DeviceFlags& flags) {
  const auto add = [&app](const char* name, auto& value, const char* help, const char* type) {
    app.add_option(name, value, help)->type_name(type)->group("Devices");
  };
  add("--device", flags.device, "cpu, cuda (or gpu), or auto: a GPU where there is one. [auto]",
      "auto|cpu|cuda");
  add("--model-gpu", flags.model_gpu, "The GPU to use, in nvidia-smi's order. [0]", "N");
  add("--threads", flags.threads, "Threads on the CPU. [one for each core]", "N");
}

void check(const DeviceFlags& flags) {
  if (flags.device != "auto" && flags.device != "cpu" && !names_gpu(flags)) {
    throw ConfigError(
        fmt::format("--device is \"{}\"; it must be auto, cpu, cuda or gpu.", flags.device));
  }
  if (const int threads = flags.threads.value_or(1); threads < 1 || threads > kMostThreads) {
    throw ConfigError(
        fmt::format("--threads is {}; it must be from 1 to {}.", threads, kMostThreads));
  }
}

c10::Device open_device(const DeviceFlags& flags) {
  if (flags.threads) at::set_num_threads(*flags.threads);
  const DeviceKind kind = flags.device == "cpu" ? DeviceKind::Cpu
                          : names_gpu(flags)    ? DeviceKind::Cuda
                                                : DeviceKind::Auto;
  return open_one_device(kind, flags.model_gpu, flags.device);
}

namespace {

constexpr double kLongest = 86400.0;  // a day

std::int64_t samples_of(const char* flag, double seconds, std::int64_t sample_rate) {
  const auto samples = std::isfinite(seconds) && seconds >= 0.0 && seconds <= kLongest
                           ? std::llround(seconds * static_cast<double>(sample_rate))
                           : -1;
  if (samples < shortest_reference_piece(sample_rate)) {
    throw ConfigError(fmt::format(
        "{} takes seconds from 0.34 to {:.0f}, but was given {}: shorter pieces of a reference are "
        "not listened to.",
        flag, kLongest, seconds));
  }
  return samples;
}

}  // namespace

void declare_reference_flags(CLI::App& app, ReferenceFlags& flags) {
  app.add_option("--cond-len", flags.cond_len,
                 "Seconds of the reference that the latents listen to; 0: all of it. [the model's]")
      ->type_name("S");
  app.add_option("--cond-chunk", flags.cond_chunk,
                 "Seconds of the pieces that they are averaged over. [the model's]")
      ->type_name("S");
  app.add_option("--max-ref-len", flags.max_ref_len,
                 "Seconds that are listened to of each file. [the model's]")
      ->type_name("S");
}

ReferenceLengths reference_lengths(const ReferenceFlags& flags, const ReferenceConfig& of_model,
                                   std::int64_t sample_rate) {
  const double cond_len = flags.cond_len.value_or(of_model.gpt_cond_len);
  const auto samples = [&](const char* flag, double seconds) {
    return samples_of(flag, seconds, sample_rate);
  };
  return {.of_each = samples("--max-ref-len", flags.max_ref_len.value_or(of_model.max_ref_len)),
          .for_latents = cond_len <= 0.0 ? 0 : samples("--cond-len", cond_len),
          .latents_piece =
              samples("--cond-chunk", flags.cond_chunk.value_or(of_model.gpt_cond_chunk_len))};
}

namespace {

constexpr std::size_t kLargestKeyFile = 1'000'000;

std::vector<std::string> keys_of(const AccessFlags& flags) {
  std::vector<std::string> keys = flags.listen.access.keys;
  if (!flags.key_file.empty()) {
    std::istringstream lines(read_text_file(flags.key_file, "key file", kLargestKeyFile));
    for (std::string line; std::getline(lines, line);) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty()) keys.push_back(line);
    }
    if (keys.empty()) {
      throw DataError(
          fmt::format("{} holds no key; write one on a line.", flags.key_file.string()));
    }
  }
  if (std::ranges::find(keys, std::string()) != keys.end()) {
    throw ConfigError("--api-key is empty; give a key, or --no-api-key to do without one.");
  }
  return keys;
}

}  // namespace

void declare_access_flags(CLI::App& app, AccessFlags& flags) {
  app.add_option("--host", flags.listen.host,
                 "Address to listen at; any but this machine's own needs an API key. [127.0.0.1]")
      ->type_name("ADDRESS")
      ->group(kAccessGroup);
  app.add_option("--port", flags.listen.port,
                 fmt::format("Port to listen at; 0: any that is free. [{}]", flags.listen.port))
      ->type_name("N")
      ->group(kAccessGroup);
  app.add_option("--api-key", flags.listen.access.keys,
                 "Key that requests must bring (Authorization: Bearer KEY); give it again for more")
      ->type_name("KEY")
      ->group(kAccessGroup);
  app.add_option("--api-key-file", flags.key_file, "File with such a key on each line")
      ->type_name("FILE")
      ->group(kAccessGroup);
  app.add_flag("--no-api-key", flags.no_key,
               "Lets everybody in who reaches the address, also from other machines")
      ->group(kAccessGroup);
  app.add_option("--allow-origin", flags.listen.access.origins,
                 "Page that may use the server from a browser, such as http://localhost:8000; give "
                 "it again for more")
      ->type_name("URL")
      ->group(kAccessGroup);
  app.add_option("--rate-limit", flags.listen.access.per_minute,
                 "Requests a minute from one address; 0: no limit. [0]")
      ->type_name("N")
      ->group(kAccessGroup);
}

void require_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw ConfigError(fmt::format("{} is {}; it must be from {} to {}.", flag, value, least, most));
}

void check_access_flags(const AccessFlags& flags) {
  require_range("--port", flags.listen.port, 0, 65535);
  require_range("--rate-limit", flags.listen.access.per_minute, 0, 1'000'000);
}

ListenOptions listen_options(const AccessFlags& flags) {
  ListenOptions listen = flags.listen;
  listen.access.keys = keys_of(flags);
  const bool has_keys = !listen.access.keys.empty();
  const bool is_own = is_loopback(listen.host);
  if (has_keys && flags.no_key) {
    throw ConfigError("--no-api-key and an API key contradict each other; give one of them.");
  }
  if (!is_own && !has_keys && !flags.no_key) {
    throw ConfigError(fmt::format(
        "--host {} can be reached from other machines: give --api-key KEY (or --api-key-file "
        "FILE), or --no-api-key to let everybody in.",
        listen.host));
  }
  if (is_own) listen.access.hosts = {"localhost", "127.0.0.1", "::1"};
  return listen;
}

}  // namespace myxtts
