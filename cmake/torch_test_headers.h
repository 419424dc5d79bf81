// SPDX-License-Identifier: Apache-2.0
// What the tests of code that computes with tensors read, compiled once.
#pragma once

#include "torch_headers.h"

#include <gtest/gtest.h>
