// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/model.h"
#include "device/device_plan.h"
#include "device/role_device.h"
#include "diagnose/doctor/checklist.h"
#include "diagnose/validate/model_checks.h"
#include "diagnose/validate/pipeline_checks.h"
#include "diagnose/validate/placement_checks.h"
#include "diagnose/validate/transfer_checks.h"
#include "diagnose/validate/verdict.h"

namespace myxtts {

// What is validated. Tests put a broken part in place of a sound one.
struct ValidationParts {
  DevicePlan plan = {};               // open
  ModelConfig model = {};             // the network that is tried
  std::vector<Check> checklist = {};  // doctor's
  VisibleDevices visible = {};
  std::function<std::unique_ptr<RoleDevice>(Role role, const RolePlan& plan)> open =
      open_role_device;
  std::function<std::vector<int>(const RoleDevice& data)> multiprocessors = {};
  std::function<void(ModelTrial& trial)> before_model = {};
  TransferTrial transfer = {};
  std::function<PipelineTrial()> pipeline = {};  // a short training
};

// The five steps, in order; they share the devices that the second one opens.
std::vector<ValidationStep> validation_steps(const ValidationParts& parts);

}  // namespace myxtts
