// SPDX-License-Identifier: Apache-2.0
#include "cli/peer_limits.h"

#include <cstdint>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "config/model_fields.h"

namespace myxtts {
namespace {

std::vector<std::string> obstacles(const ModelConfig& config) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& field, const auto& ours, const auto& public_value) {
    if (ours != public_value) {
      found.push_back(fmt::format("{} is {}, the peer has {}", field, ours, public_value));
    }
  };
  ModelConfig ours = config;
  ModelConfig fixed;
  for (const NetworkField& field : network_fields()) {
    const std::string name = fmt::format("{}.{}", field.network, field.key);
    if (field.list != nullptr) {
      compare(name, *field.list(ours), *field.list(fixed));
    } else {
      compare(name, *field.number(ours), *field.number(fixed));
    }
  }
  compare("decoder.speaker_dim", ours.decoder.speaker_dim, fixed.decoder.speaker_dim);
  return found;
}

}  // namespace

void require_peer_can_hold(const ModelConfig& config, const std::string& model) {
  const auto found = obstacles(config);
  if (found.empty()) return;
  throw DataError(fmt::format("{} cannot be exported: {}. The sizes normal, big and xtts-v2 can.",
                              model, fmt::join(found, "; ")));
}

}  // namespace myxtts
