// SPDX-License-Identifier: Apache-2.0
#include "config/stage.h"

namespace myxtts {

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::Gpt:
      return "gpt";
    case Stage::Dvae:
      return "dvae";
    case Stage::Decoder:
      return "decoder";
    case Stage::Speaker:
      return "speaker";
  }
  return "?";
}

}  // namespace myxtts
