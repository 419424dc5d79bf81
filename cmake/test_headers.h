// SPDX-License-Identifier: Apache-2.0
// What every test without LibTorch reads, compiled once.
#pragma once

#include "common_headers.h"

#include <gtest/gtest.h>
