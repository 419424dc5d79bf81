// SPDX-License-Identifier: Apache-2.0
#include "serve/routes.h"

#include <utility>

namespace myxtts {

void add_post(httplib::Server& server, const char* path, ErrorShape shape, BodyHandler handler) {
  server.Post(path, [shape, handler = std::move(handler)](const httplib::Request&,
                                                          httplib::Response& response,
                                                          const httplib::ContentReader& reader) {
    answer_failures(shape, response, [&] {
      std::string body;
      const bool is_whole = reader([&body](const char* data, std::size_t size) {
        body.append(data, size);
        return true;
      });
      if (is_whole) handler(body, response);
    });
  });
}

}  // namespace myxtts
