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
#include "data/batches/sound_window.h"
#include "data/corpus.h"
#include "device/plan/gpu_choice.h"
#include "diagnose/memory/memory_plan.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
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

std::int64_t parameters_to_train(const RunFacts& facts) {
  return parameters_of(*facts.model, facts.config.train.stage);
}

Check check_model(const RunFacts& facts) {
  if (!facts.model) return failed("model", "model", facts.model_fault);
  const ModelPart part = facts.config.train.stage;
  const GptConfig& gpt = facts.model->gpt;
  return {
      .id = "model",
      .name = "model",
      .found = fmt::format(
          "{}: {} parameters to train in its {}{}", facts.model_source,
          human_count(parameters_to_train(facts)), name_of(part),
          part == ModelPart::Gpt ? fmt::format(", {} layers of {}", gpt.layers, gpt.width) : "")};
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

Check check_speakers() {
  return failed("speakers", "speakers", kOneSpeaker);
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

// Of a part on windows of sound: what the plan counted, which is rough, so that it warns at most.
Check check_windows(const RunFacts& facts) {
  const std::int64_t need = facts.plan->model.estimated_bytes;
  const auto [limit, set_by] = model_limit(facts);
  Check check{.id = "batch",
              .name = "batch",
              .found = fmt::format(
                  "{}: {} MB by a rough estimate, {} MB {}",
                  counted(std::min(facts.plan->batch_size, facts.corpus->training_clips), "clip"),
                  human_count(need / kMegabyte), human_count(limit / kMegabyte), set_by)};
  if (need <= limit) return check;
  check.verdict = Verdict::Warn;
  check.remedy = "Give a smaller --batch-size or --windows-per-clip if it does not fit";
  return check;
}

// Its memory is not judged: no step has so many clips.
Check check_larger_than_corpus(const RunFacts& facts) {
  const BatchCaution caution = caution_of_batch(
      *facts.config.train.batch_size, facts.corpus->training_clips, facts.batch_was_typed);
  return {.id = "batch",
          .name = "batch",
          .verdict = caution.remedy.empty() ? Verdict::Pass : Verdict::Warn,
          .found = caution.finding,
          .remedy = caution.remedy};
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
  Check check{
      .id = "host_memory",
      .name = "host memory",
      .found = fmt::format("{} for {} ({}), {} available", human_size(need),
                           counted(batches, "decoded batch", "decoded batches"),
                           asked ? "--buffer-size" : "--buffer-size auto", human_size(there))};
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

// The same, as far as --max-steps and the part's budget let it run.
std::int64_t allowed_steps(const RunFacts& facts) {
  const std::int64_t whole = steps_of_run(facts);
  return std::min(whole,
                  most_steps(facts.config.train, facts.corpus->training_hours).value_or(whole));
}

// Checkpoints that lie side by side at most, besides the one being written.
std::int64_t kept_checkpoints(const RunFacts& facts) {
  const std::int64_t kept = facts.config.run.keep_last + facts.config.run.keep_best;
  const bool is_counted = facts.plan && facts.corpus;
  const std::int64_t steps =
      is_counted ? allowed_steps(facts) : facts.config.train.max_steps.value_or(kept);
  return std::clamp<std::int64_t>(steps, 1, std::max<std::int64_t>(1, kept));
}

constexpr std::int64_t kWeight = 4;   // bytes of a parameter
constexpr std::int64_t kMoments = 8;  // of its two averages

std::int64_t bytes_of_file(const ModelConfig& model, bool is_dvae) {
  return kWeight * parameter_count(is_dvae ? dvae_specs(model.dvae) : checkpoint_specs(model));
}

// The file with the trained part, and the optimiser's. The model's other file is linked.
std::int64_t checkpoint_bytes(const RunFacts& facts) {
  const bool is_dvae = facts_of(facts.config.train.stage).file == files::kDvae;
  return bytes_of_file(*facts.model, is_dvae) + kMoments * parameters_to_train(facts) +
         (kWeight + kMoments) * facts.judges;
}

// Everything that the run leaves, the file that its checkpoints link included.
std::int64_t bytes_at_end(const RunFacts& facts) {
  const bool is_dvae = facts_of(facts.config.train.stage).file == files::kDvae;
  return kept_checkpoints(facts) * checkpoint_bytes(facts) + bytes_of_file(*facts.model, !is_dvae);
}

}  // namespace

std::int64_t bytes_to_keep(const RunFacts& facts) {
  return std::max<std::int64_t>(0, bytes_at_end(facts) - facts.held_bytes);
}

Check check_disk(const RunFacts& facts) {
  const std::int64_t checkpoint = checkpoint_bytes(facts);
  const std::int64_t need = facts.bytes_before + bytes_to_keep(facts) + checkpoint;
  std::string found =
      fmt::format("{} free at {}, {} for {} of {}, one being written and what they start from",
                  human_size(facts.disk.free_bytes), facts.disk.folder.string(), human_size(need),
                  counted(kept_checkpoints(facts), "checkpoint"), human_size(checkpoint));
  if (facts.bytes_before > 0) {
    found += fmt::format(", {} of the parts before among it", human_size(facts.bytes_before));
  }
  Check check{.id = "disk", .name = "disk", .found = std::move(found)};
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

BatchCaution caution_of_batch(std::int64_t asked, std::int64_t clips, bool was_typed) {
  if (!was_typed) {
    return {fmt::format("{}, all that there are to train on, in place of {}",
                        counted(clips, "clip"), human_count(asked))};
  }
  return {
      .finding = fmt::format("a batch of {} is larger than the corpus, which has {} to train on",
                             counted(asked, "clip"), human_count(clips)),
      .remedy = fmt::format("Give --batch-size {}", clips)};
}

namespace {

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
  if (facts.steps_done >= steps) {
    return {.id = "length",
            .name = "length",
            .verdict = Verdict::Warn,
            .found = fmt::format("{}; {} done, so that nothing is left to train", found,
                                 counted(facts.steps_done, "step is", "steps are")),
            .remedy = "Raise --max-steps, --epochs or --stage-budget to train on"};
  }
  if (facts.steps_done > 0) {
    found += fmt::format("; {} done", counted(facts.steps_done, "is", "are"));
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
  const bool tells_apart = windows_of(facts.config.train.stage).with_speakers;
  if (tells_apart && facts.corpus && facts.corpus->speakers == 1)
    checks.push_back(check_speakers());
  if (planned && facts.model) checks.push_back(check_batch(facts));
  if (planned) checks.push_back(check_host_memory(facts));
  if (facts.model) checks.push_back(check_disk(facts));
  if (!facts.run_fault.empty()) {
    checks.push_back(failed("run_directory", "run directory", facts.run_fault));
  }
  if (!facts.judge_fault.empty()) {
    checks.push_back(failed("judge", "judge", facts.judge_fault));
  }
  if (!facts.settings_fault.empty()) {
    checks.push_back(failed("settings", "settings", facts.settings_fault));
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
