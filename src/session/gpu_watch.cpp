// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_watch.h"

#include <utility>

namespace myxtts {

GpuWatch::GpuWatch(const RolePlan& role, const Clock& clock)
    : clock_(clock), meter_(role.gpu ? std::make_unique<GpuMeter>(role.gpu->uuid) : nullptr) {}

void GpuWatch::look() {
  if (meter_ == nullptr || clock_.now() < next_) return;
  next_ = clock_.now() + kBetweenLooks;
  const auto use = meter_->read();
  if (!use) return;
  ++looks_;
  sum_.busy_share += use->percent / 100.0;
  sum_.watts += use->watts;
  sum_.watts_limit = use->watts_limit;
  sum_.used_bytes = use->used_bytes;
  sum_.total_bytes = use->total_bytes;
}

std::optional<GpuSeen> GpuWatch::take() {
  const int looks = std::exchange(looks_, 0);
  GpuSeen seen = std::exchange(sum_, {});
  if (looks == 0) return std::nullopt;
  seen.busy_share /= looks;
  seen.watts /= looks;
  return seen;
}

}  // namespace myxtts
