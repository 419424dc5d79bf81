// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/placement_checks.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "device/plan/gpu_choice.h"

namespace myxtts {
namespace {

constexpr const char* kRestart =
    "Start the program anew, without setting CUDA_VISIBLE_DEVICES after its start; if it stays so, "
    "report it with: myxtts doctor --bundle FILE";

std::vector<std::string> planned_places(const DevicePlan& plan) {
  std::vector<std::string> places;
  for (const RolePlan* role : {&plan.data, &plan.model}) {
    const std::string place = short_bus_id(role->gpu->pci_bus_id);
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

std::string place_of(const RolePlan& plan) {
  return plan.gpu ? fmt::format("{}, cuda:{} to LibTorch", label(*plan.gpu), plan.gpu->logical)
                  : "the CPU, " + counted(plan.threads, "thread");
}

}  // namespace

Check check_visible(const DevicePlan& plan, const std::string& variable,
                    const std::vector<std::string>& shown, bool cuda_is_open) {
  const std::string id = "placement.visible";
  const std::string name = "visible devices";
  const std::string planned = fmt::format("{}", fmt::join(plan.visible_uuids(), ","));
  if (variable != planned) {
    return failed(
        id, name,
        fmt::format("CUDA_VISIBLE_DEVICES is \"{}\", but the plan is \"{}\"", variable, planned),
        kRestart);
  }
  if (!plan.model.gpu) {
    if (!cuda_is_open) return passed(id, name, "CUDA is not opened, and sees no GPU");
    return failed(id, name, "CUDA was opened for a run on the CPU", kRestart);
  }
  std::vector<std::string> places;
  for (const std::string& place : shown) places.push_back(short_bus_id(place));
  if (places != planned_places(plan)) {
    return failed(id, name,
                  fmt::format("CUDA shows the cards at {}, but those at {} were chosen",
                              fmt::join(places, ", "), fmt::join(planned_places(plan), ", ")),
                  kRestart);
  }
  return passed(id, name, fmt::format("CUDA sees {} and no other", fmt::join(places, ", ")));
}

Check check_device(Role role, const RolePlan& plan, const RoleDevice& opened) {
  const std::string id = fmt::format("placement.{}_device", name_of(role));
  const std::string name = fmt::format("{} device", name_of(role));
  const int planned = plan.gpu ? plan.gpu->logical : -1;
  if (opened.gpu() != planned) {
    return failed(id, name,
                  fmt::format("the plan is {}, but {} was opened", place_of(plan), opened.name()),
                  "Report it with: myxtts doctor --bundle FILE");
  }
  return passed(id, name, place_of(plan));
}

Check check_cap(Role role, std::int64_t cap, bool planned, const TryTake& try_take) {
  constexpr std::int64_t kSome = 16 * kMegabyte;
  const std::string id = fmt::format("placement.{}_cap", name_of(role));
  const std::string name = fmt::format("{} memory cap", name_of(role));
  const std::string flag = role == Role::Data ? "--data-gpu-memory" : "--model-gpu-memory";
  const std::int64_t less = std::min(cap / 2, kSome);
  if (!try_take(less)) {
    return failed(id, name,
                  fmt::format("{} were refused under a cap of {}", megabytes(less), megabytes(cap)),
                  fmt::format("End what else runs on the device, or raise {}", flag));
  }
  if (try_take(cap + 1)) {
    return failed(id, name, fmt::format("more than its cap of {} was given out", megabytes(cap)),
                  "Caps are not kept here: do not share the device; report it with: myxtts doctor "
                  "--bundle FILE");
  }
  return passed(id, name,
                planned ? fmt::format("{}: more is refused, less is not", megabytes(cap))
                        : fmt::format("none is set; one of {} was tried and kept", megabytes(cap)));
}

Check check_split(const DevicePlan& plan, const std::vector<int>& used) {
  const std::string id = "placement.split";
  const std::string name = "multiprocessors";
  if (plan.mode != Mode::Split) return skipped(id, name, "no GPU is split (--split-gpu)");
  const auto given = static_cast<std::size_t>(plan.data.multiprocessors.value_or(0));
  // A driver rounds up to what a card can be divided by, at most by a group of eight.
  if (used.empty() || used.size() >= given + 8) {
    return failed(id, name,
                  fmt::format("data work ran on {} multiprocessors, not on the {} it was given",
                              used.size(), given),
                  fmt::format("Type --mode single, or another part, as in --split-gpu {}:{}",
                              plan.data.gpu->listed, given + 8));
  }
  return passed(id, name, fmt::format("data work ran on {} of the card's", used.size()));
}

bool can_take(RoleDevice& device, std::int64_t bytes) {
  const auto scope = device.enter(device.stream());
  const auto on = device.gpu() < 0
                      ? c10::Device(c10::kCPU)
                      : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.gpu()));
  try {
    return at::empty({bytes}, at::TensorOptions(on).dtype(at::kByte)).defined();
  } catch (const c10::OutOfMemoryError&) {
    return false;
  } catch (const DeviceError&) {
    return false;
  }
}

}  // namespace myxtts
