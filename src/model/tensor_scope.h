// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"

namespace myxtts {

// The tensors of a map whose names begin with a prefix, by the rest of their names. Networks take
// their weights from one while they are built; the map need only live until then.
class TensorScope {
 public:
  // `prefix` is empty or ends in a dot.
  explicit TensorScope(const NamedTensors& tensors, std::string prefix = {});

  // The tensor itself, not a copy. Throws InternalError when there is none: what was read from a
  // file has been compared with the specs before a network is built on it.
  const at::Tensor& operator[](std::string_view name) const;

  // The scope of a part: scope.part("attn.0")["norm.weight"].
  TensorScope part(std::string_view name) const;

 private:
  const NamedTensors& tensors_;
  std::string prefix_;
};

}  // namespace myxtts
