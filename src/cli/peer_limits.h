// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/model.h"

namespace myxtts {

// Throws DataError if the Python peer, which fixes most shapes in its code, could not hold a model
// of these sizes; lists every field that stands in the way. `model` opens the message.
void require_peer_can_hold(const ModelConfig& config, const std::string& model);

}  // namespace myxtts
