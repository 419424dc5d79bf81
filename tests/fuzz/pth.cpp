// SPDX-License-Identifier: Apache-2.0
// A whole .pth file: archive, pickle and tensors.
#include <vector>

#include "fuzz/fuzz_input.h"
#include "weights/dtype.h"
#include "weights/pth.h"

namespace {

using namespace myxtts;

void read_tensor(const PthReader& reader, PickleRef value, std::string_view name) {
  std::vector<std::byte> in_order;
  std::vector<std::byte> floats;
  const TensorView view = dense(reader.tensor(value, name), in_order);
  if (is_floating(view.dtype)) as_fp32(view, floats);
  reader.verify(value, name);
}

void read_dict(const PthReader& reader, PickleRef dict, int depth) {
  for (const auto& [name, value] : reader.items(dict)) {
    const PickleKind kind = reader.tree()[value].kind;
    if (kind == PickleKind::Dict && depth < 3) read_dict(reader, value, depth + 1);
    if (kind != PickleKind::Call) continue;
    fuzz::parse([&, key = name, tensor = value] { read_tensor(reader, tensor, key); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::parse([&] {
    const PthReader reader(fuzz::file_of(data, size));
    read_dict(reader, reader.tree().root(), 0);
  });
}
