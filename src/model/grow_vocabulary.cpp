// SPDX-License-Identifier: Apache-2.0
#include "model/grow_vocabulary.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/tensor_scope.h"

namespace myxtts {
namespace {

// old: [rows, ...] -> [rows + new rows, ...]
at::Tensor with_rows(const at::Tensor& old, const std::vector<RowSources>& new_rows) {
  const std::int64_t old_rows = old.size(0);
  auto shape = old.sizes().vec();
  shape[0] += static_cast<std::int64_t>(new_rows.size());
  auto grown = at::empty(shape, old.options());
  grown.narrow(0, 0, old_rows).copy_(old);
  std::int64_t row = old_rows;
  for (const RowSources& sources : new_rows) {
    for (const std::int64_t source : sources) {
      MYXTTS_CHECK(source >= 0 && source < row, "row {} starts from row {}", row, source);
    }
    const auto from = sources.empty()
                          ? old
                          : grown.index_select(0, at::tensor(sources, at::kLong).to(old.device()));
    grown.select(0, row).copy_(from.to(at::kDouble).mean(0));
    ++row;
  }
  return grown;
}

}  // namespace

const std::vector<std::string>& text_id_tensors() {
  static const std::vector<std::string> names = {"text_embedding.weight", "text_head.weight",
                                                 "text_head.bias"};
  return names;
}

NamedTensors grow_vocabulary(const NamedTensors& weights, const std::vector<RowSources>& new_rows,
                             const std::string& prefix) {
  const at::NoGradGuard no_grad;
  const TensorScope scope(weights, prefix);
  NamedTensors grown;
  for (const std::string& name : text_id_tensors()) {
    grown[prefix + name] = with_rows(scope[name].detach(), new_rows);
  }
  return grown;
}

}  // namespace myxtts
