// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <httplib.h>

#include "http/access.h"

namespace myxtts {

// The library's server, but connections whose other end is too slow are closed.
class PacedServer : public httplib::Server {
 public:
  explicit PacedServer(Pace pace = {}) : pace_(pace) {}

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool has_next_request(class PacedStream& connection) const;

  const Pace pace_;
};

}  // namespace myxtts
