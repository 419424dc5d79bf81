// SPDX-License-Identifier: Apache-2.0
// checksums.json of a checkpoint, under a seal that is right.
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "config/json.h"
#include "fuzz/fuzz_input.h"
#include "run/sealed_folder.h"

namespace {

using Json = nlohmann::ordered_json;

std::string sealed(std::string_view text) {
  Json json = myxtts::parse_shallow_json<Json>(text);
  if (!json.is_object()) return std::string(text);
  json.erase("seal");
  const auto print = [&json] { return json.dump(2, ' ', false, Json::error_handler_t::replace); };
  myxtts::FastChecksum sum;
  sum.add(myxtts::bytes_of(print()));
  json["seal"] = fmt::format("{:016x}", sum.value());
  return print();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  static const bool kIsMade = (fuzz::put_file(fuzz::folder() / "model.bin", "weights"), true);
  static_cast<void>(kIsMade);
  fuzz::put_file(fuzz::folder() / kChecksums, sealed(fuzz::text_of(data, size)));
  fuzz::parse([] { read_sealed_folder(fuzz::folder()); });
  return fuzz::parse([] { find_damage(fuzz::folder()); });
}
