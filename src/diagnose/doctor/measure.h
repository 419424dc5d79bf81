// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "diagnose/doctor/findings.h"

namespace myxtts {

// Measures everything but LibTorch, which only programs linked to it can tell of: fill in
// Findings::libtorch with libtorch_facts(). `folder` is where free disk space is asked for.
Findings measure(MachineProbe& probe, const CudaPlugin& plugin,
                 const std::filesystem::path& folder);

SoundFacts measure_sound();

// Runs a kernel on every GPU at once. Never throws: what fails is a fault.
CudaFacts measure_cuda(const CudaPlugin& plugin);

}  // namespace myxtts
