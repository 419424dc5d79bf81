// SPDX-License-Identifier: Apache-2.0
// What the modules that compute with tensors include of LibTorch.
#pragma once

#include "common_headers.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
#include <torch/csrc/autograd/grad_mode.h>
