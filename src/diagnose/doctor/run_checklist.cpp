// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/run_checklist.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/message_text.h"
#include "config/effective_config.h"
#include "config/part_settings.h"
#include "device/plan/gpu_choice.h"
#include "model/checkpoint_specs.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"
#include "pipeline/pipeline_options.h"

namespace myxtts {
namespace {

std::string place(const RolePlan& role) {
  return role.gpu ? label(*role.gpu) : fmt::format("the CPU ({})", counted(role.threads, "thread"));
}

Check check_devices(const RunFacts& facts) {
  if (!facts.plan) return failed("devices", "devices", facts.device_fault);
  Check check{.id = "devices",
              .name = "devices",
              .found = fmt::format("{}: data on {}, model on {}", name_of(facts.plan->mode),
                                   place(facts.plan->data), place(facts.plan->model))};
  if (!facts.plan->warnings.empty()) {
    check.verdict = Verdict::Warn;
    check.remedy = "See the warnings below the table";
  }
  return check;
}

Check check_model(const RunFacts& facts) {
  if (!facts.model) return failed("model", "model", facts.model_fault);
  const GptConfig& gpt = facts.model->gpt;
  return {
      .id = "model",
      .name = "model",
      .found = fmt::format("{}: {} parameters to train, {} layers of {}", facts.model_source,
                           human_count(parameter_count(gpt_specs(gpt))), gpt.layers, gpt.width)};
}

Check check_corpus(const RunFacts& facts) {
  if (!facts.corpus) return failed("corpus", "corpus", facts.corpus_fault);
  const CorpusFacts& corpus = *facts.corpus;
  const std::string length = human_duration(
      std::chrono::seconds(static_cast<std::int64_t>(std::lround(corpus.training_hours * 3600.0))));
  Check check{
      .id = "corpus",
      .name = "corpus",
      .found = fmt::format("{} ({}) to train on, {} to measure on, {} left "
                           "out",
                           counted(corpus.training_clips, "clip"), length,
                           human_count(corpus.validation_clips), human_count(corpus.left_out))};
  if (corpus.training_clips == 0) {
    check.verdict = Verdict::Fail;
    check.remedy = "Name a corpus with clips that can be used: --train-data DIR";
  } else if (corpus.validation_clips == 0) {
    check.verdict = Verdict::Warn;
    check.remedy = kNothingMeasured;
  }
  return check;
}

// How much the model role may take, and what sets that limit.
std::pair<std::int64_t, std::string> model_limit(const RunFacts& facts) {
  const RolePlan& model = facts.plan->model;
  if (model.memory_cap_bytes) return {*model.memory_cap_bytes, "allowed by --model-gpu-memory"};
  const std::int64_t shared = facts.plan->mode == Mode::Dual ? 0 : facts.plan->data.estimated_bytes;
  if (!model.gpu) return {facts.machine.memory.available_bytes - shared, "of memory available"};
  return {model.gpu->free_bytes - shared, "free on " + label(*model.gpu)};
}

StepKind kind_of(const RunFacts& facts) {
  return {.precision = facts.plan->precision,
          .cpu = !facts.plan->model.gpu,
          .savers = facts.plan->savers,
          .batches_a_step = facts.plan->grad_accum,
          .guided = facts.config.train.guide > 0};
}

std::int64_t batch_need(const RunFacts& facts) {
  const ModelConfig& model = *facts.model;
  const BatchShape& batch = facts.corpus->largest_batch;
  return training_memory(model, batch, kind_of(facts)).total() +
         facts.plan->ring_slots * slot_memory(model, batch);
}

// Of a stage on windows of sound: what the plan counted, which is rough, so that it warns at most.
Check check_windows(const RunFacts& facts) {
  const std::int64_t need = facts.plan->model.estimated_bytes;
  const auto [limit, set_by] = model_limit(facts);
  Check check{
      .id = "batch",
      .name = "batch",
      .found = fmt::format("{}: {} MB by a rough estimate, {} MB {}",
                           counted(facts.plan->batch_size, "clip"), human_count(need / kMegabyte),
                           human_count(limit / kMegabyte), set_by)};
  if (need <= limit) return check;
  check.verdict = Verdict::Warn;
  check.remedy = "Give a smaller --batch-size or --windows-per-clip if it does not fit";
  return check;
}

// Its memory is not judged: no step has so many clips.
Check check_larger_than_corpus(const RunFacts& facts) {
  const std::int64_t clips = facts.corpus->training_clips;
  if (!facts.batch_was_typed) {
    return {.id = "batch",
            .name = "batch",
            .found = fmt::format("{}, all that there are to train on, in place of {}",
                                 counted(clips, "clip"), *facts.config.train.batch_size)};
  }
  return {.id = "batch",
          .name = "batch",
          .verdict = Verdict::Warn,
          .found = fmt::format("a batch of {} is larger than the corpus, which has {} to train on",
                               counted(*facts.config.train.batch_size, "clip"), human_count(clips)),
          .remedy = fmt::format("Give --batch-size {}", clips)};
}

Check check_batch(const RunFacts& facts) {
  if (facts.corpus->training_clips < facts.config.train.batch_size) {
    return check_larger_than_corpus(facts);
  }
  if (facts_of(facts.config.train.stage).on_windows) return check_windows(facts);
  const std::int64_t need = batch_need(facts);
  const auto [limit, set_by] = model_limit(facts);
  Check check{
      .id = "batch",
      .name = "batch",
      .found = fmt::format(
          "{}, {} tokens at most ({:.1f} % useful): {} MB by "
          "estimate, {} MB {}",
          counted(std::min(facts.plan->batch_size, facts.corpus->training_clips), "clip"),
          human_count(facts.corpus->largest_batch.tokens), 100.0 * facts.corpus->useful_share,
          human_count(need / kMegabyte), human_count(limit / kMegabyte), set_by)};
  if (need <= limit) return check;
  check.verdict = Verdict::Fail;
  const BatchShape nothing;
  const std::int64_t fixed = training_memory(*facts.model, nothing, kind_of(facts)).total();
  const std::int64_t clip = std::max<std::int64_t>(1, (need - fixed) / facts.plan->batch_size);
  const std::int64_t fitting = (limit - fixed) / clip;
  check.remedy =
      fitting >= 1
          ? fmt::format("Give --batch-size {} --grad-accum {}", fitting,
                        (facts.plan->batch_size * facts.plan->grad_accum + fitting - 1) / fitting)
          : "Not even one clip fits: give a smaller --model-size, or a device with more memory";
  return check;
}

Check check_host_memory(const RunFacts& facts) {
  const std::int64_t clip =
      facts.corpus->source_bytes / std::max<std::int64_t>(1, facts.corpus->training_clips);
  const std::int64_t there = facts.machine.memory.available_bytes;
  const std::int64_t epoch = facts.corpus->batches_per_epoch;
  const auto& asked = facts.config.data.pipeline_buffer_size;
  const std::int64_t batches = std::min(
      asked ? *asked
            : static_cast<std::int64_t>(first_buffer(there, facts.plan->batch_size * clip, epoch)),
      std::max<std::int64_t>(1, epoch * facts.config.train.epochs));
  const std::int64_t need = batches * facts.plan->batch_size * clip;
  Check check{.id = "host_memory",
              .name = "host memory",
              .found = fmt::format("{} for {} decoded batches ({}), {} available", human_size(need),
                                   batches, asked ? "--buffer-size" : "--buffer-size auto",
                                   human_size(there))};
  if (need > there / 2) {
    check.verdict = Verdict::Warn;
    check.remedy = "The buffer will hold fewer batches; give a smaller --buffer-size";
  }
  return check;
}

// Updates of the whole run. Each epoch ends with one, whatever is left for it.
std::int64_t steps_of_run(const RunFacts& facts) {
  const std::int64_t accum = facts.plan->grad_accum;
  return facts.config.train.epochs * ((facts.corpus->batches_per_epoch + accum - 1) / accum);
}

// The same, as far as --max-steps and the stage's budget let it run.
std::int64_t allowed_steps(const RunFacts& facts) {
  const std::int64_t whole = steps_of_run(facts);
  return std::min(whole,
                  most_steps(facts.config.train, facts.corpus->training_hours).value_or(whole));
}

// Checkpoints that lie side by side at most, besides the one being written.
std::int64_t kept_checkpoints(const RunFacts& facts) {
  const std::int64_t kept = facts.config.run.keep_last + facts.config.run.keep_best;
  if (!facts.plan || !facts.corpus) return kept;
  return std::clamp<std::int64_t>(allowed_steps(facts), 1, kept);
}

Check check_disk(const RunFacts& facts) {
  const std::int64_t trained = parameter_count(gpt_specs(facts.model->gpt));
  const std::int64_t whole = parameter_count(checkpoint_specs(*facts.model));
  const std::int64_t checkpoint = 4 * whole + 8 * trained;  // fp32 weights, two moments of AdamW
  const std::int64_t kept = kept_checkpoints(facts);
  const std::int64_t need = (kept + 1) * checkpoint;
  Check check{.id = "disk",
              .name = "disk",
              .found = fmt::format("{} free at {}, {} for {} checkpoints of {} and one being "
                                   "written",
                                   human_size(facts.disk.free_bytes), facts.disk.folder.string(),
                                   human_size(need), kept, human_size(checkpoint))};
  if (!facts.disk.fault.empty()) {
    check.verdict = Verdict::Fail;
    check.found = fmt::format("{}: {}", facts.disk.folder.string(), facts.disk.fault);
    check.remedy = "Name another folder: --checkpoint-dir DIR";
  } else if (facts.disk.free_bytes < need) {
    check.verdict = Verdict::Fail;
    check.remedy = fmt::format("Free {}, or name another disk: --checkpoint-dir DIR",
                               human_size(need - facts.disk.free_bytes));
  }
  return check;
}

Check check_length(const RunFacts& facts) {
  const TrainConfig& train = facts.config.train;
  const std::int64_t whole = steps_of_run(facts);
  const std::int64_t steps = allowed_steps(facts);
  std::string found = fmt::format("{} of {}", counted(train.epochs, "epoch"),
                                  counted(facts.corpus->batches_per_epoch, "batch", "batches"));
  if (facts.plan->grad_accum > 1) {
    found += fmt::format(", {} batches a step", facts.plan->grad_accum);
  }
  found += ": " + counted(whole, "step");
  if (steps < whole) {
    const bool by_budget = steps != train.max_steps;
    found += fmt::format(", of which {} lets {} run", by_budget ? "--stage-budget" : "--max-steps",
                         human_count(steps));
  }
  return {.id = "length",
          .name = "length",
          .found = found + "; how long they take is not known before the first are measured"};
}

void add_cautions_of_length(const RunFacts& facts, Checks& checks) {
  for (const LengthCaution& caution : cautions_of_length(facts.config, allowed_steps(facts))) {
    checks.push_back({.id = caution.name,
                      .name = caution.name,
                      .verdict = Verdict::Warn,
                      .found = caution.finding,
                      .remedy = caution.remedy});
  }
}

}  // namespace

Checks check_run(const RunFacts& facts) {
  Checks checks{check_devices(facts), check_model(facts), check_corpus(facts)};
  const bool planned = facts.plan && facts.corpus && facts.corpus->training_clips > 0;
  if (planned && facts.model) checks.push_back(check_batch(facts));
  if (planned) checks.push_back(check_host_memory(facts));
  if (facts.model) checks.push_back(check_disk(facts));
  if (!facts.run_fault.empty()) {
    checks.push_back(failed("run_directory", "run directory", facts.run_fault));
  }
  if (!facts.judge_fault.empty()) {
    checks.push_back(failed("judge", "judge", facts.judge_fault));
  }
  if (planned) checks.push_back(check_length(facts));
  if (planned) add_cautions_of_length(facts, checks);
  return checks;
}

std::string describe(const RunFacts& facts, const Checks& checks) {
  const std::string text =
      (facts.plan ? describe(*facts.plan) + "\n" : "") + describe(checks, longest_name(checks));
  const auto failures = std::ranges::count(checks, Verdict::Fail, &Check::verdict);
  const auto warnings = std::ranges::count(checks, Verdict::Warn, &Check::verdict);
  if (failures == 0 && warnings > 0) {
    return text + fmt::format("\nThe run can start; read the {} above first.\n",
                              counted(warnings, "warning"));
  }
  if (failures == 0) return text + "\nWhat can be checked before a run is in order.\n";
  return text + fmt::format("\nThe run would not work: {} of {} checks failed.\n", failures,
                            checks.size());
}

}  // namespace myxtts
