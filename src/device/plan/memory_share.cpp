// SPDX-License-Identifier: Apache-2.0
#include "device/plan/plan_devices.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "device/plan/gpu_choice.h"

namespace myxtts {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kCapStep = 256 * kMegabyte;
constexpr std::array<std::int64_t, 11> kBatches{32, 24, 20, 16, 12, 8, 6, 4, 3, 2, 1};

// What two GPUs of one size start with, as users of the original program know it.
struct PairDefaults {
  std::int64_t gigabytes;    // on the card's box
  std::int64_t most_batch;   // clips
  std::int64_t least_batch;  // below it gradients of several batches are summed
  std::int64_t data_cap;     // MB
  std::int64_t model_cap;    // MB
  std::int64_t ring_slots;
};

constexpr std::array<PairDefaults, 3> kPairDefaults{{
    {12, 8, 8, 4096, 8192, 6},
    {16, 12, 12, 6144, 10240, 4},
    {24, 24, 16, 8192, 16384, 3},
}};

// The row for a card of so much memory; null between and beyond the rows. Cards of one size on the
// box differ by up to a tenth.
const PairDefaults* pair_defaults(std::int64_t memory_bytes) {
  for (const PairDefaults& row : kPairDefaults) {
    const std::int64_t nominal = row.gigabytes * 1024 * kMegabyte;
    if (memory_bytes * 10 >= nominal * 9 && memory_bytes * 10 <= nominal * 11) return &row;
  }
  return nullptr;
}

// Elsewhere: batches from which larger ones no longer pay, on a GPU and on the CPU.
constexpr std::int64_t kMostGpuBatch = 32;
constexpr std::int64_t kMostCpuBatch = 8;
constexpr std::int64_t kRingSlots = 3;

std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + kCapStep - 1) / kCapStep * kCapStep;
}

// What tensors may take of a card: a little is lost to the context and to rounding.
std::int64_t room_on(const PlannedGpu& gpu) {
  return std::max<std::int64_t>(0, gpu.memory_bytes - gpu.memory_bytes / 32 - kContextBytes);
}

// bf16 where the card has it; elsewhere the plain arithmetic that is right everywhere.
Precision resolved(Precision wanted, const DevicePlan& plan, const Machine& machine) {
  if (wanted != Precision::Auto) return wanted;
  if (!plan.model.gpu) return Precision::Fp32;
  for (const GpuInfo& gpu : machine.gpus.gpus) {
    if (gpu.index == plan.model.gpu->physical && gpu.capability_major.value_or(0) >= 8) {
      return Precision::Bf16;
    }
  }
  return Precision::Fp32;
}

class MemoryShare {
 public:
  MemoryShare(const RunConfig& config, const Machine& machine, const MemoryNeeds& needs,
              DevicePlan& plan)
      : config_(config), machine_(machine), needs_(needs), plan_(plan) {
    if (plan.mode == Mode::Dual) {
      defaults_ =
          pair_defaults(std::min(plan.data.gpu->memory_bytes, plan.model.gpu->memory_bytes));
    }
  }

  void decide() {
    decide_ring();
    decide_caps();
    decide_batch();
    plan_.data.estimated_bytes = data_need(plan_.batch_size);
    plan_.model.estimated_bytes = model_need(plan_.batch_size);
    fill_caps();
    warn_of_too_little();
  }

 private:
  bool shares_card() const { return plan_.mode == Mode::Single || plan_.mode == Mode::Split; }
  std::int64_t data_need(std::int64_t batch) const { return needs_.data.of_batch(batch); }
  std::int64_t model_need(std::int64_t batch) const {
    const bool sums = batches_of_step(batch) > 1;
    return needs_.model.of_batch(batch) + plan_.ring_slots * batch * needs_.slot_bytes +
           (sums ? needs_.sum_bytes.value_or(0) : 0);
  }

  // A batch that is decided here and smaller than the table's is one of several in a step.
  std::int64_t batches_of_step(std::int64_t batch) const {
    const std::int64_t asked = config_.train.grad_accum;
    if (config_.train.batch_size || config_.train.batch_tokens) return asked;
    if (defaults_ == nullptr || !needs_.sum_bytes) return asked;
    return asked * ((defaults_->least_batch + batch - 1) / batch);
  }

  void decide_ring() {
    plan_.ring_slots =
        config_.data.prefetch_buffer_size.value_or(defaults_ ? defaults_->ring_slots : kRingSlots);
    if (config_.data.prefetch_buffer_size || !defaults_) return;
    plan_.notes.push_back(
        fmt::format("{} slots in the ring: the default for two cards of {} GB; "
                    "--prefetch-buffer-size sets it.",
                    plan_.ring_slots, defaults_->gigabytes));
  }

  // Caps that were typed, and the table's. What is left open waits for the batch.
  void decide_caps() {
    const DevicesConfig& devices = config_.devices;
    if (!devices.enable_memory_isolation || !plan_.data.gpu) return;
    take_cap("--data-gpu-memory", devices.data_gpu_memory, plan_.data);
    take_cap("--model-gpu-memory", devices.model_gpu_memory, plan_.model);
    if (shares_card() && plan_.data.memory_cap_bytes && plan_.model.memory_cap_bytes &&
        *plan_.data.memory_cap_bytes + *plan_.model.memory_cap_bytes >
            plan_.model.gpu->memory_bytes) {
      throw DeviceError(fmt::format(
          "--data-gpu-memory {} and --model-gpu-memory {} are together more than {} has, {}; "
          "give less, as in --data-gpu-memory {} --model-gpu-memory {}.",
          *devices.data_gpu_memory, *devices.model_gpu_memory, label(*plan_.model.gpu),
          megabytes(plan_.model.gpu->memory_bytes), room_on(*plan_.model.gpu) / 4 / kMegabyte,
          room_on(*plan_.model.gpu) / 4 * 3 / kMegabyte));
    }
    if (plan_.mode != Mode::Dual) return;
    default_cap(plan_.data, defaults_ ? defaults_->data_cap : 0, 1);
    default_cap(plan_.model, defaults_ ? defaults_->model_cap : 0, 2);
  }

  void take_cap(const char* flag, const std::optional<std::int64_t>& cap, RolePlan& role) const {
    if (!cap) return;
    if (*cap * kMegabyte > role.gpu->memory_bytes) {
      throw DeviceError(fmt::format("{} {} is more than {} has, {}; give at most {} {}.", flag,
                                    *cap, label(*role.gpu), megabytes(role.gpu->memory_bytes), flag,
                                    room_on(*role.gpu) / kMegabyte));
    }
    role.memory_cap_bytes = *cap * kMegabyte;
  }

  // From the table, or so many thirds of the card.
  static void default_cap(RolePlan& role, std::int64_t table_cap, std::int64_t thirds) {
    if (role.memory_cap_bytes) return;
    role.memory_cap_bytes =
        table_cap > 0 ? table_cap * kMegabyte : rounded_up(role.gpu->memory_bytes / 3 * thirds);
  }

  bool fits(std::int64_t batch) const {
    const std::int64_t data = data_need(batch);
    const std::int64_t model = with_margin(model_need(batch));
    if (data > plan_.data.memory_cap_bytes.value_or(kNoLimit)) return false;
    if (model > plan_.model.memory_cap_bytes.value_or(kNoLimit)) return false;
    if (!plan_.model.gpu) return data + model <= machine_.memory.available_bytes;
    if (shares_card()) return data + model <= room_on(*plan_.model.gpu);
    return data <= room_on(*plan_.data.gpu) && model <= room_on(*plan_.model.gpu);
  }

  std::int64_t largest_batch(std::int64_t most) const {
    for (const std::int64_t batch : kBatches) {
      if (batch <= most && fits(batch)) return batch;
    }
    return 1;
  }

  std::int64_t most_batch() const {
    if (defaults_ != nullptr) return defaults_->most_batch;
    return plan_.model.gpu ? kMostGpuBatch : kMostCpuBatch;
  }

  void decide_batch() {
    plan_.grad_accum = config_.train.grad_accum;
    if (config_.train.batch_size) {
      plan_.batch_size = *config_.train.batch_size;
      return;
    }
    if (config_.train.batch_tokens) {
      plan_.batch_tokens = config_.train.batch_tokens;
      plan_.batch_size = std::max<std::int64_t>(1, *plan_.batch_tokens / needs_.clip_tokens);
      return;
    }
    plan_.batch_size = largest_batch(most_batch());
    std::string why = fmt::format("the largest up to {} that fits by estimate", most_batch());
    plan_.grad_accum = batches_of_step(plan_.batch_size);
    if (defaults_ != nullptr && plan_.batch_size >= defaults_->least_batch) {
      why = fmt::format("the default for two cards of {} GB", defaults_->gigabytes);
    } else if (plan_.grad_accum > config_.train.grad_accum) {
      why = fmt::format(
          "more do not fit by estimate, so the gradients of {} batches are summed (--grad-accum "
          "{}) in place of the {} clips that two cards of {} GB start with",
          plan_.grad_accum / config_.train.grad_accum, plan_.grad_accum, defaults_->least_batch,
          defaults_->gigabytes);
    }
    plan_.notes.push_back(fmt::format("{} in a batch: {}; --batch-size sets it.",
                                      counted(plan_.batch_size, "clip"), why));
  }

  // Now that the batch is known: caps left open get a value, the others must be enough.
  void fill_caps() {
    const DevicesConfig& devices = config_.devices;
    if (!devices.enable_memory_isolation || !plan_.data.gpu) return;
    check_cap("--data-gpu-memory", devices.data_gpu_memory, plan_.data);
    check_cap("--model-gpu-memory", devices.model_gpu_memory, plan_.model);
    if (shares_card()) share_rest();
    if (!devices.data_gpu_memory) raise_cap(plan_.data);
    if (!devices.model_gpu_memory) raise_cap(plan_.model);
    if (devices.data_gpu_memory && devices.model_gpu_memory) return;
    plan_.notes.push_back(fmt::format(
        "Memory caps: {} for data work, {} for training; --data-gpu-memory and "
        "--model-gpu-memory set them.",
        megabytes(*plan_.data.memory_cap_bytes), megabytes(*plan_.model.memory_cap_bytes)));
  }

  void check_cap(const char* flag, const std::optional<std::int64_t>& cap,
                 const RolePlan& role) const {
    if (!cap || role.estimated_bytes <= *role.memory_cap_bytes) return;
    const bool data = &role == &plan_.data;
    const std::int64_t least = data ? data_need(1) : model_need(1);
    std::string remedy =
        fmt::format("give {} {} or more", flag, (role.estimated_bytes + kMegabyte - 1) / kMegabyte);
    if (least <= *role.memory_cap_bytes) {
      const std::int64_t smaller = largest_batch(plan_.batch_size);
      remedy += fmt::format(", or --batch-size {}", smaller);
    } else {
      remedy += ", or a smaller --model-size";
    }
    throw ConfigError(fmt::format(
        "{} {} is less than {} needs by estimate: {} for --model-size {} and {} in a batch; {}.",
        flag, *cap, data ? "data work" : "training", megabytes(role.estimated_bytes),
        config_.train.model_size, counted(plan_.batch_size, "clip"), remedy));
  }

  // On one card data work gets what it needs and a quarter more, training the rest.
  void share_rest() {
    const std::int64_t room = room_on(*plan_.model.gpu);
    const auto rest = [room](std::int64_t taken) {
      return std::max(kCapStep, (room - taken) / kCapStep * kCapStep);
    };
    if (!plan_.data.memory_cap_bytes) {
      const std::int64_t wanted = rounded_up(plan_.data.estimated_bytes / 4 * 5);
      plan_.data.memory_cap_bytes = plan_.model.memory_cap_bytes
                                        ? std::min(wanted, rest(*plan_.model.memory_cap_bytes))
                                        : wanted;
    }
    if (!plan_.model.memory_cap_bytes) {
      plan_.model.memory_cap_bytes = rest(*plan_.data.memory_cap_bytes);
    }
  }

  // A default that is too small for the smallest batch is no default.
  void raise_cap(RolePlan& role) {
    if (with_margin(role.estimated_bytes) <= *role.memory_cap_bytes) return;
    role.memory_cap_bytes = rounded_up(with_margin(role.estimated_bytes));
  }

  void warn_of_too_little() {
    if (!plan_.model.gpu) {
      warn_if_above("This machine", plan_.data.estimated_bytes + plan_.model.estimated_bytes,
                    machine_.memory.available_bytes);
    } else if (shares_card()) {
      warn_of_card(*plan_.model.gpu, plan_.data.estimated_bytes + plan_.model.estimated_bytes);
    } else {
      warn_of_card(*plan_.data.gpu, plan_.data.estimated_bytes);
      warn_of_card(*plan_.model.gpu, plan_.model.estimated_bytes);
    }
  }

  void warn_of_card(const PlannedGpu& gpu, std::int64_t need) {
    if (need > room_on(gpu)) {
      warn_if_above(label(gpu), need, room_on(gpu));
    } else if (need + kContextBytes > gpu.free_bytes) {
      plan_.warnings.push_back(fmt::format(
          "{} has {} free of {}, and the run needs {} by estimate: another program uses the card.",
          label(gpu), megabytes(gpu.free_bytes), megabytes(gpu.memory_bytes),
          megabytes(need + kContextBytes)));
    }
  }

  void warn_if_above(const std::string& where, std::int64_t need, std::int64_t room) {
    if (need <= room) return;
    plan_.warnings.push_back(fmt::format(
        "{} has room for {}, and the run needs {} by estimate; give a smaller --batch-size or "
        "--model-size.",
        where, megabytes(room), megabytes(need)));
  }

  const RunConfig& config_;
  const Machine& machine_;
  const MemoryNeeds needs_;
  DevicePlan& plan_;
  const PairDefaults* defaults_ = nullptr;
};

}  // namespace

void share_memory(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                  DevicePlan& plan) {
  plan.precision = resolved(config.train.precision, plan, machine);
  MemoryShare(config, machine, memory(plan.precision, !plan.model.gpu), plan).decide();
}

}  // namespace myxtts
