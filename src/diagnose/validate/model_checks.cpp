// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/validation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "base/random.h"
#include "device/torch_device.h"

namespace myxtts {
namespace {

constexpr std::size_t kExamples = 3;

// Empty: it is where it should be.
std::string stray_place(const at::Tensor& tensor, const RoleDevice& device) {
  const int gpu = tensor.is_cuda() ? tensor.get_device() : -1;
  if (gpu != device.gpu()) return fmt::format("on {}", tensor.device().str());
  if (tensor.numel() == 0) return {};
  const RoleMemory* owner = owner_of(tensor);
  if (owner == &device.memory()) return {};
  return owner == nullptr ? "in memory that no role took" : "in the memory of another role";
}

// Tensors that were looked at, and those of them that are not on the device they should be on.
struct TensorPlaces {
  std::int64_t tensors = 0;
  std::int64_t numbers = 0;  // in all of them
  std::int64_t strays = 0;
  std::vector<std::string> examples = {};  // of the strays, a few: "name (on cuda:0)"

  // Looks at a tensor that should be on `device` and in memory that its role took. Where both roles
  // share a device only the second tells them apart: see device/torch_device.h.
  void look_at(const std::string& name, const at::Tensor& tensor, const RoleDevice& device) {
    ++tensors;
    numbers += tensor.numel();
    const std::string where = stray_place(tensor, device);
    if (where.empty()) return;
    ++strays;
    if (examples.size() < kExamples) examples.push_back(fmt::format("{} ({})", name, where));
  }

  // "12 tensors, 3.1 M numbers" or "2 of 12 tensors are elsewhere: name (where), ...".
  std::string describe() const {
    if (strays == 0) return fmt::format("{} tensors, {} numbers", tensors, human_count(numbers));
    return fmt::format("{} of {} tensors are elsewhere: {}{}", strays, tensors,
                       fmt::join(examples, ", "), strays > std::ssize(examples) ? ", ..." : "");
  }
};

bool counts(const at::Tensor& tensor) {
  constexpr std::int64_t kFewNumbers = 2;
  if (!tensor.defined() || !tensor.has_storage()) return false;
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return false;
  return tensor.is_floating_point() || tensor.numel() > kFewNumbers;
}

// While it lives, looks at whatever LibTorch's operations make in this thread and in the threads of
// its backward passes: activations, gradients on their way, and the arrays that our own kernels
// write to, which LibTorch makes too. Seeds and sizes, integers of a number or two, are left out.
//
// One at a time in a process. The device outlives it.
class ActivationWatch {
 public:
  explicit ActivationWatch(const RoleDevice& device) : device_(device) {
    ActivationWatch* nobody = nullptr;
    MYXTTS_CHECK(at_work.compare_exchange_strong(nobody, this), "two watches at a time");
    callback_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              return nullptr;
            },
            [](const at::RecordFunction& operation, at::ObserverContext*) { look(operation); })
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ActivationWatch(const ActivationWatch&) = delete;
  ActivationWatch& operator=(const ActivationWatch&) = delete;
  ~ActivationWatch() {
    at::removeCallback(callback_);
    at_work = nullptr;
  }

  TensorPlaces seen() const {
    const std::lock_guard lock(mutex_);
    return places_;
  }

 private:
  static void look(const at::RecordFunction& operation) {
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

  void look_at(const char* operation, const at::Tensor& tensor) {
    if (!counts(tensor)) return;
    const std::lock_guard lock(mutex_);
    places_.look_at(operation, tensor, device_);
  }

  // LibTorch calls plain functions: they find the watch here. Threads of a backward pass do too.
  static inline std::atomic<ActivationWatch*> at_work = nullptr;

  const RoleDevice& device_;
  std::uint64_t callback_ = 0;

  // Guarded by mutex_.
  mutable std::mutex mutex_;
  TensorPlaces places_;
};

constexpr std::int64_t kText = 40;     // tokens of a clip
constexpr std::int64_t kCodes = 90;    // some four seconds
constexpr std::int64_t kFrames = 517;  // of a prompt
constexpr const char* kOtherMemory =
    "Training would compute with another device's memory; report it with: myxtts doctor --bundle "
    "FILE";

bool is_gradient(const std::string& name) {
  return name.starts_with("gradient.");
}

Check check_places(const std::string& id, const std::string& name, const TensorPlaces& places,
                   const RoleDevice& device) {
  if (places.tensors == 0) return failed(id, name, "none was seen", kOtherMemory);
  if (places.strays > 0) return failed(id, name, places.describe(), kOtherMemory);
  return passed(id, name, fmt::format("{}, all on {}", places.describe(), device.name()));
}

Check check_kept(const NamedTensors& kept, const RoleDevice& device) {
  TensorPlaces places;
  for (const auto& [name, tensor] : kept) {
    if (!is_gradient(name)) places.look_at(name, tensor, device);
  }
  return check_places("model.parameters", "parameters, averages", places, device);
}

Check check_gradients(const NamedTensors& kept, const RoleDevice& device) {
  TensorPlaces places;
  std::string wrong;
  double squares = 0;
  for (const auto& [name, tensor] : kept) {
    if (!is_gradient(name)) continue;
    places.look_at(name, tensor, device);
    const double sum = tensor.to(at::kFloat).square().sum().item<double>();
    if (!std::isfinite(sum) && wrong.empty()) wrong = name;
    squares += sum;
  }
  const std::string id = "model.gradients";
  Check result = check_places(id, "gradients", places, device);
  if (result.verdict == Verdict::Fail) return result;
  if (!wrong.empty() || squares == 0) {
    return failed(id, "gradients",
                  wrong.empty() ? "the backward pass reached no parameter"
                                : fmt::format("{} is not finite", wrong),
                  "Type --precision fp32; if it stays so, report it with: myxtts doctor --bundle "
                  "FILE");
  }
  return result;
}

// A step moves every weight that has a gradient, if only by its decay.
double largest_change(const NamedTensors& before, const NamedTensors& after) {
  double largest = 0;
  for (const auto& [name, tensor] : after) {
    if (!name.starts_with("weight.")) continue;
    largest = std::max(largest, (tensor - before.at(name)).abs().max().item<double>());
  }
  return largest;
}

NamedTensors copies(const NamedTensors& kept) {
  NamedTensors copied;
  for (const auto& [name, tensor] : kept) {
    if (name.starts_with("weight.")) copied.emplace(name, tensor.clone());
  }
  return copied;
}

Check check_step(const StepNumbers& step, double change) {
  const std::string id = "model.step";
  const std::string name = "forward, backward";
  const std::string numbers =
      fmt::format("loss {:.3f}, gradient {:.3g}, largest change of a weight {:.2g}", step.loss,
                  step.gradient_norm, change);
  if (step.skipped || !std::isfinite(step.loss) || !std::isfinite(step.gradient_norm)) {
    return failed(id, name, "the step is not finite: " + numbers, "Type --precision fp32");
  }
  if (step.gradient_norm == 0 || change == 0 || !std::isfinite(change)) {
    return failed(id, name, "the step changes nothing: " + numbers,
                  "Report it with: myxtts doctor --bundle FILE");
  }
  return passed(id, name, numbers);
}

}  // namespace

Checks check_model(const ModelTrial& trial) {
  RoleDevice& device = trial.training.device();
  const auto scope = device.enter(device.stream());
  const at::NoGradGuard no_grad;
  Checks results = {check_kept(trial.kept(), device)};
  const NamedTensors before = copies(trial.kept());
  {
    const at::AutoGradMode with_gradients(true);
    const ActivationWatch watch(device);
    trial.pass();
    results.push_back(check_places("model.activations", "activations", watch.seen(), device));
  }
  results.push_back(check_gradients(trial.kept(), device));
  const StepNumbers numbers = trial.update();
  results.push_back(check_step(numbers, largest_change(before, trial.kept())));
  return results;
}

DeviceBatch made_up_batch(const GptConfig& gpt, RoleDevice& device, std::int64_t clips) {
  const auto scope = device.enter(device.stream());
  const RandomStream random(1, "validate/batch");
  std::uint64_t drawn = 0;
  const auto ids = [&](std::int64_t count, std::int64_t below) {
    std::vector<std::int64_t> drawn_ids;
    for (std::int64_t i = 0; i < count; ++i) {
      drawn_ids.push_back(
          static_cast<std::int64_t>(random.bits(drawn++) % static_cast<std::uint64_t>(below)));
    }
    return drawn_ids;
  };
  std::vector<std::vector<std::int64_t>> numbers;
  for (std::int64_t clip = 0; clip < clips; ++clip) {
    numbers.push_back(ids(std::min(kText, gpt.max_text_tokens / 2), gpt.text_ids));
    numbers.push_back(ids(std::min(kCodes, gpt.max_audio_tokens / 2), gpt.start_audio));
  }
  std::vector<GptClip> rows;
  for (std::size_t clip = 0; clip < numbers.size(); clip += 2) {
    rows.push_back({.text = numbers[clip], .codes = numbers[clip + 1]});
  }
  DeviceBatch batch;
  const c10::Device on = torch_device(device);
  batch.rows = to_batch(pack_rows(gpt, rows), on);
  const auto mel = at::linspace(-3, 3, clips * gpt.mel_bands * kFrames, at::kFloat).sin();
  batch.prompt_mel = mel.view({clips, gpt.mel_bands, kFrames}).to(on);  // [B, bands, frames]
  batch.filled = device.make_event();
  batch.consumed = device.make_event();
  return batch;
}

}  // namespace myxtts
