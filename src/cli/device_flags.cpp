// SPDX-License-Identifier: Apache-2.0
#include "cli/device_flags.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
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
      "KIND");
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

}  // namespace myxtts
