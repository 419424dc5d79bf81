// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/activation_watch.h"

#include <atomic>

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include "base/error.h"

namespace myxtts {
namespace {

// LibTorch calls plain functions: they find the watch here. Threads of a backward pass do too.
std::atomic<ActivationWatch*> at_work = nullptr;

constexpr std::int64_t kFewNumbers = 2;

bool counts(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return false;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return false;
  return tensor.is_floating_point() || tensor.numel() > kFewNumbers;
}

}  // namespace

ActivationWatch::ActivationWatch(const RoleDevice& device) : device_(device) {
  ActivationWatch* nobody = nullptr;
  MYXTTS_CHECK(at_work.compare_exchange_strong(nobody, this), "two watches at a time");
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> { return nullptr; },
          [](const at::RecordFunction& operation, at::ObserverContext*) { look(operation); })
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION}));
}

ActivationWatch::~ActivationWatch() {
  at::removeCallback(callback_);
  at_work = nullptr;
}

TensorPlaces ActivationWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return places_;
}

void ActivationWatch::look(const at::RecordFunction& operation) {
  ActivationWatch* watch = at_work;
  if (watch == nullptr) return;
  for (const c10::IValue& output : operation.outputs()) {
    if (output.isTensor()) watch->look_at(operation.name(), output.toTensor());
    if (!output.isTensorList()) continue;
    for (const at::Tensor& tensor : output.toTensorVector()) {
      watch->look_at(operation.name(), tensor);
    }
  }
}

void ActivationWatch::look_at(const char* operation, const at::Tensor& tensor) {
  if (!counts(tensor)) return;
  const std::lock_guard lock(mutex_);
  places_.look_at(operation, tensor, device_);
}

}  // namespace myxtts
