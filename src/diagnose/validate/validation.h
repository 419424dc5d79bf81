// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "config/model.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "diagnose/doctor/checklist.h"
#include "diagnose/validate/model_checks.h"
#include "diagnose/validate/pipeline_checks.h"
#include "diagnose/validate/placement_checks.h"
#include "diagnose/validate/transfer_checks.h"
#include "diagnose/validate/validation_report.h"

namespace myxtts {

// The rows of doctor's checklist that a run depends on: everything that the CPU needs and, where
// `with_gpu`, driver, plugin and cards; those are skipped otherwise. What a language alone needs is
// left to doctor.
CheckResults check_prerequisites(const std::vector<Check>& checklist, bool with_gpu);

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
