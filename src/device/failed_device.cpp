// SPDX-License-Identifier: Apache-2.0
#include "device/failed_device.h"

namespace myxtts {

DeviceError failed_device(Role role, const std::string& device, std::string_view cause) {
  cause = cause.substr(0, cause.find('\n'));
  while (cause.ends_with('.')) cause.remove_suffix(1);
  return DeviceError(fmt::format("The {} role failed on {}: {}. {}", name_of(role), device, cause,
                                 kAfterALostDevice));
}

}  // namespace myxtts
