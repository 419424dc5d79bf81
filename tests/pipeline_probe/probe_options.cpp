// SPDX-License-Identifier: Apache-2.0
#include "probe_options.h"

#include <functional>
#include <map>
#include <string_view>

#include "base/error.h"

namespace myxtts::test {
namespace {

DevicePlan plan_for(const std::string& mode) {
  const PlannedGpu gpu = {};
  DevicePlan plan;
  if (mode == "cpu") return plan;
  plan.mode = mode == "split" ? Mode::Split : Mode::Single;
  plan.path = BatchPath::SameDevice;
  plan.data = {.gpu = gpu, .priority = StreamPriority::Low};
  plan.model = {.gpu = gpu, .priority = StreamPriority::High};
  if (mode == "split") plan.data.multiprocessors = 64;
  return plan;
}

BatchPath path_of(const std::string& name) {
  if (name == "peer") return BatchPath::P2p;
  return name == "host" ? BatchPath::PinnedHost : BatchPath::SameDevice;
}

StreamPriority priority_of(const std::string& name) {
  if (name == "low") return StreamPriority::Low;
  return name == "high" ? StreamPriority::High : StreamPriority::Normal;
}

}  // namespace

ProbeOptions read_options(int count, char** arguments) {
  ProbeOptions options;
  using Setter = std::function<void(const std::string&)>;
  const std::map<std::string_view, Setter> flags = {
      {"--clips", [&](const auto& value) { options.clips = value; }},
      {"--model", [&](const auto& value) { options.model = value; }},
      {"--phases", [&](const auto& value) { options.phases = value; }},
      {"--kernels", [&](const auto& value) { options.kernels = value; }},
      {"--trace", [&](const auto& value) { options.trace = value; }},
      {"--batch", [&](const auto& value) { options.batch = std::stoll(value); }},
      {"--steps", [&](const auto& value) { options.steps = std::stoll(value); }},
      {"--warm-up", [&](const auto& value) { options.warm_up = std::stoll(value); }},
      {"--dvae", [&](const auto& value) { options.dvae = value; }},
      {"--dvae-blocks", [&](const auto& value) { options.dvae_blocks = std::stoll(value); }},
      {"--workers", [&](const auto& value) { options.workers = std::stoul(value); }},
      {"--mode", [&](const auto& value) { options.plan = plan_for(value); }},
      {"--path", [&](const auto& value) { options.plan.path = path_of(value); }},
      {"--slots", [&](const auto& value) { options.plan.ring_slots = std::stoll(value); }},
      {"--split", [&](const auto& v) { options.plan.data.multiprocessors = std::stoll(v); }},
      {"--data-priority", [&](const auto& v) { options.plan.data.priority = priority_of(v); }},
      {"--data-threads", [&](const auto& v) { options.plan.data.threads = std::stoi(v); }},
      {"--model-threads", [&](const auto& v) { options.plan.model.threads = std::stoi(v); }},
      {"--data-cap", [&](const auto& v) { options.plan.data.memory_cap_bytes = std::stoll(v); }},
      {"--model-cap", [&](const auto& v) { options.plan.model.memory_cap_bytes = std::stoll(v); }},
  };
  for (int i = 1; i + 1 < count; i += 2) {
    const auto flag = flags.find(arguments[i]);
    if (flag == flags.end()) throw ConfigError(fmt::format("{} is no flag.", arguments[i]));
    flag->second(arguments[i + 1]);
  }
  return options;
}

}  // namespace myxtts::test
