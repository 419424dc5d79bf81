// SPDX-License-Identifier: Apache-2.0
#include "device/device_plan.h"

namespace myxtts {

std::vector<std::string> DevicePlan::visible_uuids() const {
  std::vector<std::string> uuids;
  if (data.gpu) uuids.push_back(data.gpu->uuid);
  if (model.gpu && model.gpu->physical != data.gpu->physical) uuids.push_back(model.gpu->uuid);
  return uuids;
}

std::string name_of(Mode mode) {
  switch (mode) {
    case Mode::Auto:
      return "auto";
    case Mode::Dual:
      return "dual";
    case Mode::Single:
      return "single";
    case Mode::Split:
      return "split";
    case Mode::Cpu:
      return "cpu";
  }
  return "?";
}

std::string name_of(BatchPath path) {
  switch (path) {
    case BatchPath::Peer:
      return "peer access";
    case BatchPath::PinnedHost:
      return "pinned host memory";
    case BatchPath::SameDevice:
      return "same device";
    case BatchPath::PlainMemory:
      return "plain memory";
  }
  return "?";
}

std::string name_of(Precision precision) {
  switch (precision) {
    case Precision::Auto:
      return "auto";
    case Precision::Fp32:
      return "fp32";
    case Precision::Tf32:
      return "tf32";
    case Precision::Bf16:
      return "bf16";
    case Precision::Fp16:
      return "fp16";
  }
  return "?";
}

std::string name_of(Moments moments) {
  switch (moments) {
    case Moments::Fp32:
      return "fp32";
    case Moments::Bf16:
      return "bf16";
    case Moments::EightBit:
      return "8bit";
  }
  return {};
}

std::string name_of(StreamPriority priority) {
  switch (priority) {
    case StreamPriority::Low:
      return "low";
    case StreamPriority::Normal:
      return "normal";
    case StreamPriority::High:
      return "high";
  }
  return "?";
}

}  // namespace myxtts
