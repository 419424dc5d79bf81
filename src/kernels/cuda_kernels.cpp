// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda_kernels.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <typeindex>
#include <unordered_map>
#include <utility>

namespace myxtts {
namespace {

struct Tables {
  std::shared_mutex mutex;
  std::unordered_map<std::type_index, const void*> by_kind;  // guarded by mutex
};

Tables& tables() {
  static Tables all;
  return all;
}

thread_local const PlainExpressions* innermost = nullptr;

}  // namespace

PlainExpressions::PlainExpressions() : PlainExpressions(std::vector<std::type_index>{}) {}

PlainExpressions::PlainExpressions(std::vector<std::type_index> kinds)
    : before_(innermost), kinds_(std::move(kinds)) {
  innermost = this;
}

PlainExpressions::~PlainExpressions() {
  innermost = before_;
}

bool PlainExpressions::covers(const std::type_info& kind) const {
  return kinds_.empty() || std::ranges::find(kinds_, std::type_index(kind)) != kinds_.end();
}

void register_cuda_kernels(const std::type_info& kind, const void* table) {
  const std::unique_lock lock(tables().mutex);
  tables().by_kind[kind] = table;
}

const void* find_cuda_kernels(const std::type_info& kind) {
  if (innermost != nullptr && innermost->covers(kind)) return nullptr;
  const std::shared_lock lock(tables().mutex);
  const auto found = tables().by_kind.find(kind);
  return found == tables().by_kind.end() ? nullptr : found->second;
}

}  // namespace myxtts
