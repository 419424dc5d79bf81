// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/model.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "diagnose/validate/model_checks.h"
#include "diagnose/validate/pipeline_checks.h"
#include "diagnose/validate/placement_checks.h"
#include "diagnose/validate/transfer_checks.h"
#include "diagnose/validate/validation_report.h"

namespace myxtts {

// What is validated. Tests put a broken part in place of a sound one.
struct ValidationParts {
  DevicePlan plan = {};                 // open
  ModelConfig model = {};               // the network that is tried
  Checks checklist = {};                // doctor's
  std::string visible_devices = {};     // CUDA_VISIBLE_DEVICES
  std::vector<std::string> shown = {};  // PCI places of the cards that CUDA shows
  bool cuda_is_open = false;
  std::function<std::unique_ptr<RoleDevice>(Role role, const RolePlan& plan)> open =
      open_role_device;
  std::function<std::vector<int>(const RoleDevice& data)> multiprocessors = {};
  std::function<void(ModelTrial& trial)> before_model = {};
  std::size_t largest_send = std::size_t{16} << 20;  // bytes
  std::function<TrialReading()> pipeline = {};       // a training of kPipelineSteps
};

// The five steps, in order; they share the devices that the second one opens.
std::vector<ValidationStep> validation_steps(const ValidationParts& parts);

}  // namespace myxtts
