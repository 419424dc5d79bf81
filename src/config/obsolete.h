// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace myxtts {

// Why a key of the TensorFlow predecessor's files has nothing to set any more; empty for any other
// key. Such keys are read and left alone, so that old files keep working.
std::string_view reason_obsolete(std::string_view key);

}  // namespace myxtts
