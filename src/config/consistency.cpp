// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/effective_config.h"
#include "config/part_settings.h"
#include "config/resumed_run.h"
#include "config/run_config.h"

namespace myxtts {
namespace {

// AdamW moves each weight by about the rate in every step, whatever the gradient's length.
constexpr double kHighRate = 0.01;

bool was_chosen(const EffectiveConfig& config, std::string_view key) {
  return !config.origins.empty() && config.origin_of(key).kind != Origin::Kind::Default;
}

// Its steps follow from the corpus.
bool budget_is_for_hours(const TrainConfig& train) {
  const auto& budgets = train.stage_budget;
  return budgets && budgets->contains(train.stage) && budgets->at(train.stage).hours;
}

// Which setting the last step is from.
std::string_view what_ends(const TrainConfig& train) {
  const auto& budgets = train.stage_budget;
  const bool has_budget = budgets && budgets->contains(train.stage);
  return has_budget && budgets->at(train.stage).steps == train.max_steps ? "train.stage_budget"
                                                                         : "train.max_steps";
}

}  // namespace

std::vector<std::string> cautions(const EffectiveConfig& config) {
  const RunConfig& values = config.values;
  std::vector<std::string> found;
  if (values.train.prompt_mask == PromptMask::Peer) {
    found.emplace_back(
        "--prompt-mask peer repeats a slip of coqui-tts, which masks the wrong codes of "
        "one clip in each batch; it is there for comparing with it. Train with --prompt-mask "
        "clip.");
  }
  if (learning_rate_of(values.train) > kHighRate) {
    found.push_back(fmt::format(
        "--lr {} is far above what this network bears: fine-tuning uses about 5e-6, training from "
        "nothing about 1e-4.",
        learning_rate_of(values.train)));
  }
  const bool measures = !values.data.val_data.empty() || values.data.val_fraction > 0;
  if (!measures && values.run.keep_best > 0 && was_chosen(config, "run.keep_best")) {
    found.push_back(fmt::format(
        "--keep-best {} keeps nothing, as nothing is measured on: data.val_fraction is 0 and there "
        "is no --val-data.",
        values.run.keep_best));
  }
  if (!values.run.save_steps && !values.run.save_minutes) {
    found.emplace_back(
        "With --save-steps none and --save-minutes none the only checkpoint is the last one, and a "
        "power cut costs the whole run.");
  }
  return found;
}

std::vector<LengthCaution> cautions_of_length(const RunConfig& config, std::int64_t steps) {
  const auto share = [steps](std::int64_t part) { return std::max<std::int64_t>(1, steps / part); };
  const std::string length = counted(steps, "step");
  std::vector<LengthCaution> found;
  if (2 * config.train.warmup_steps.value_or(0) > steps) {
    found.push_back(
        {.name = "warm-up",
         .finding = fmt::format("--warmup-steps {} is most of the run's {}, so "
                                "that the learning rate is hardly reached",
                                *config.train.warmup_steps, length),
         .remedy = fmt::format("Give --warmup-steps {}, or auto: a tenth of the run", steps / 10)});
  }
  const auto& most = config.train.max_steps;
  const bool is_exact = !config.train.batch_tokens && !budget_is_for_hours(config.train);
  if (most > steps && is_exact) {
    const bool is_budget = what_ends(config.train) == "train.stage_budget";
    const std::int64_t enough = (config.train.epochs * *most + steps - 1) / steps;
    found.push_back(
        {.name = "epochs",
         .finding = fmt::format("--epochs {} ends the run after {}, before the {} of {}",
                                config.train.epochs, length, *most,
                                is_budget ? "--stage-budget" : "--max-steps"),
         .remedy = fmt::format("Give --epochs {} to have them all", enough)});
  }
  const RunDirectoryConfig& run = config.run;
  if (run.eval_steps && *run.eval_steps > steps) {
    found.push_back(
        {.name = "measuring",
         .finding = fmt::format("--eval-steps {} is more than the run's {}, so that nothing "
                                "is measured before the end",
                                *run.eval_steps, length),
         .remedy = fmt::format("Give --eval-steps {}, or auto: once an epoch", share(10))});
  }
  const bool by_minutes = run.save_minutes && run.save_steps == RunDirectoryConfig{}.save_steps;
  if (run.save_steps && *run.save_steps > steps && !by_minutes) {
    found.push_back(
        {.name = "saving",
         .finding = fmt::format("--save-steps {} is more than the run's {}, so that {}",
                                *run.save_steps, length,
                                run.save_minutes ? "minutes alone decide when it is saved"
                                                 : "nothing is saved before the end"),
         .remedy = fmt::format("Give --save-steps {}", share(4))});
  }
  return found;
}

namespace {

// "data.data_gpu is 1 (flag --data-gpu)"; without the origin where a program made the settings.
std::string statement(const EffectiveConfig& config, std::string_view key) {
  const std::string value = find_field(key)->value_of(config.values).text;
  if (config.origins.empty()) return fmt::format("{} is {}", key, value);
  return fmt::format("{} is {} ({})", key, value, describe(config.origin_of(key)));
}

[[noreturn]] void refuse(const EffectiveConfig& config, std::string_view first,
                         std::string_view second, std::string_view remedy) {
  throw ConfigError(
      fmt::format("{} but {}; {}.", statement(config, first), statement(config, second), remedy));
}

// What to leave out to be rid of a setting: "--split-gpu", "devices.split_gpu of run.yaml:3" or
// "--preset two-gpu".
std::string source_of(const EffectiveConfig& config, std::string_view key) {
  const Field& field = *find_field(key);
  if (config.origins.empty()) return field.flag;
  const Origin& origin = config.origin_of(key);
  switch (origin.kind) {
    case Origin::Kind::File:
      return fmt::format("{} of {}:{}", origin.as.empty() ? key : origin.as, origin.name,
                         origin.line);
    case Origin::Kind::Preset:
      return fmt::format("--preset {}", origin.name);
    case Origin::Kind::Flag:
      return origin.name;
    case Origin::Kind::Default:
      break;
  }
  return field.flag;
}

// The same of two settings: "both --data-gpu and --model-gpu", or what gave both.
std::string source_of_both(const EffectiveConfig& config, std::string_view first,
                           std::string_view second) {
  const std::string source = source_of(config, first);
  const std::string other = source_of(config, second);
  return source == other ? source : fmt::format("both {} and {}", source, other);
}

void check_ranks(const EffectiveConfig& config) {
  const DevicesConfig& devices = config.values.devices;
  if (!devices.gpus) return;
  if (config.values.parallel.ranks) {
    refuse(config, "parallel.ranks", "parallel.gpus",
           fmt::format("leave out {}: there is one on each GPU of --gpus",
                       source_of(config, "parallel.ranks")));
  }
  if (config.values.data.model_gpu) {
    refuse(config, "data.model_gpu", "parallel.gpus",
           fmt::format("leave out {}, as --gpus names the GPUs that train",
                       source_of(config, "data.model_gpu")));
  }
  // --data-gpu 0 --gpus 1,2: one that feeds several.
  if (config.values.data.data_gpu &&
      std::ranges::count(*devices.gpus, *config.values.data.data_gpu) > 0) {
    refuse(config, "data.data_gpu", "parallel.gpus",
           "give the GPU that prepares data apart from those that train, as in --data-gpu 0 "
           "--gpus 1,2");
  }
  if (devices.split_gpu && config.values.data.data_gpu) {
    refuse(config, "data.data_gpu", "devices.split_gpu",
           fmt::format("leave out {}", source_of(config, "devices.split_gpu")));
  }
  if (devices.split_gpu) {
    refuse(config, "parallel.gpus", "devices.split_gpu",
           "leave one of them out: on each GPU of --gpus a rank prepares its own data");
  }
}

void check_gpu_pair(const EffectiveConfig& config) {
  const DevicesConfig& devices = config.values.devices;
  if (devices.gpus) return;
  if (config.values.data.data_gpu.has_value() != config.values.data.model_gpu.has_value()) {
    refuse(config, "data.data_gpu", "data.model_gpu",
           "give both, as in --data-gpu 0 --model-gpu 1, or neither");
  }
  if (config.values.data.data_gpu && config.values.data.data_gpu == config.values.data.model_gpu) {
    refuse(config, "data.data_gpu", "data.model_gpu",
           fmt::format("give two different GPUs, or use one as two with --split-gpu {}",
                       *config.values.data.data_gpu));
  }
  if (config.values.data.data_gpu && devices.split_gpu) {
    refuse(config, "data.data_gpu", "devices.split_gpu",
           fmt::format("leave out {}, or {}", source_of(config, "devices.split_gpu"),
                       source_of_both(config, "data.data_gpu", "data.model_gpu")));
  }
}

void check_cpu_only(const EffectiveConfig& config) {
  const DevicesConfig& devices = config.values.devices;
  const bool by_mode = devices.mode == Mode::Cpu;
  if (devices.device != DeviceKind::Cpu && !by_mode) return;
  const std::string_view cpu =
      devices.device == DeviceKind::Cpu ? "devices.device" : "devices.mode";
  const auto refuse_gpu_setting = [&config, cpu](std::string_view key) {
    refuse(config, cpu, key,
           fmt::format("leave out {} or use --device cuda", source_of(config, key)));
  };
  if (config.values.data.data_gpu && config.values.data.model_gpu) {
    refuse(config, cpu, "data.data_gpu",
           fmt::format("leave out {} or use --device cuda",
                       source_of_both(config, "data.data_gpu", "data.model_gpu")));
  }
  if (config.values.data.data_gpu) refuse_gpu_setting("data.data_gpu");
  if (devices.gpus) refuse_gpu_setting("parallel.gpus");
  if (devices.split_gpu) refuse_gpu_setting("devices.split_gpu");
  if (devices.data_gpu_memory) refuse_gpu_setting("devices.data_gpu_memory");
  if (devices.model_gpu_memory) refuse_gpu_setting("devices.model_gpu_memory");
  if (devices.enable_memory_isolation) refuse_gpu_setting("devices.enable_memory_isolation");
  if (devices.transfer_path != TransferPath::Auto) refuse_gpu_setting("devices.transfer_path");
  if (devices.mode && *devices.mode != Mode::Cpu && *devices.mode != Mode::Auto) {
    refuse_gpu_setting("devices.mode");
  }
  const Precision precision = config.values.train.precision;
  if (precision == Precision::Tf32 || precision == Precision::Fp16) {
    refuse(config, cpu, "train.precision", "use --precision fp32");
  }
}

// What --mode auto is to choose cannot be chosen already, and a measurement comes out a little
// differently each time.
void check_auto(const EffectiveConfig& config) {
  const std::string pair = source_of_both(config, "data.data_gpu", "data.model_gpu");
  for (const auto& [is_set, key, sources] :
       {std::tuple(config.values.devices.split_gpu.has_value(), "devices.split_gpu",
                   source_of(config, "devices.split_gpu")),
        std::tuple(config.values.data.data_gpu.has_value(), "data.data_gpu", pair)}) {
    if (!is_set) continue;
    refuse(config, "devices.mode", key,
           fmt::format("leave out {} to have that, or {} to have it measured",
                       source_of(config, "devices.mode"), sources));
  }
  if (config.values.train.deterministic) {
    refuse(config, "devices.mode", "train.deterministic",
           fmt::format("a measured choice can differ from run to run: name a mode, as in --mode "
                       "single, or leave {} out",
                       source_of(config, "train.deterministic")));
  }
}

void check_mode(const EffectiveConfig& config) {
  const DevicesConfig& devices = config.values.devices;
  const bool two_gpus = config.values.data.data_gpu.has_value();
  if (!devices.mode) return;
  if (*devices.mode == Mode::Auto) check_auto(config);
  if (*devices.mode == Mode::Dual && !two_gpus) {
    refuse(config, "devices.mode", "data.data_gpu", "add --data-gpu 0 --model-gpu 1");
  }
  if (*devices.mode == Mode::Split && !devices.split_gpu) {
    refuse(config, "devices.mode", "devices.split_gpu", "add --split-gpu 0");
  }
  if (*devices.mode == Mode::Cpu && devices.device == DeviceKind::Cuda) {
    refuse(config, "devices.mode", "devices.device", "use --device cpu");
  }
  if (two_gpus && *devices.mode != Mode::Dual) {
    refuse(config, "devices.mode", "data.data_gpu", "use --mode dual, or leave the GPUs out");
  }
  if (devices.split_gpu && *devices.mode != Mode::Split) {
    refuse(
        config, "devices.mode", "devices.split_gpu",
        fmt::format("use --mode split, or leave {} out", source_of(config, "devices.split_gpu")));
  }
}

void check_memory_caps(const EffectiveConfig& config) {
  const DevicesConfig& devices = config.values.devices;
  if (devices.enable_memory_isolation) return;
  for (const auto& [cap, key] : {std::pair(devices.data_gpu_memory, "devices.data_gpu_memory"),
                                 std::pair(devices.model_gpu_memory, "devices.model_gpu_memory")}) {
    if (cap)
      refuse(config, key, "devices.enable_memory_isolation", "add --enable-memory-isolation");
  }
}

void check_limits(const EffectiveConfig& config) {
  const DataConfig& data = config.values.data;
  if (data.max_seconds && data.min_seconds > *data.max_seconds) {
    refuse(config, "data.min_seconds", "data.max_seconds", "no clip could be kept");
  }
  if (data.min_chars_per_second > data.max_chars_per_second) {
    refuse(config, "data.min_chars_per_second", "data.max_chars_per_second",
           "no clip could be kept");
  }
}

void check_batch(const EffectiveConfig& config) {
  if (config.values.train.batch_size && config.values.train.batch_tokens) {
    refuse(config, "train.batch_size", "train.batch_tokens", "give one of the two");
  }
}

void check_optimiser(const EffectiveConfig& config) {
  const TrainConfig& train = config.values.train;
  if (train.release_gradients.value_or(false)) {
    const std::string_view remedy = "use --release-gradients off";
    if (train.grad_clip) refuse(config, "train.release_gradients", "train.grad_clip", remedy);
    if (train.grad_accum > 1) {
      refuse(config, "train.release_gradients", "train.grad_accum", remedy);
    }
  }
  if (train.max_steps && train.warmup_steps >= *train.max_steps) {
    refuse(config, "train.warmup_steps", what_ends(train),
           "a warm-up must be shorter than the training");
  }
}

void check_shift(const EffectiveConfig& config) {
  if (config.values.train.shift_clips && config.values.data.cache_dataset) {
    refuse(config, "train.shift_clips", "data.cache_dataset",
           "a clip that is shifted has other codes each time, so they cannot be kept: leave one of "
           "them out");
  }
}

// A clip hears another one of its batch.
void check_prompts(const EffectiveConfig& config) {
  const TrainConfig& train = config.values.train;
  if (train.prompt_from != PromptFrom::Speaker) return;
  if (train.batch_size == 1) {
    refuse(config, "train.prompt_from", "train.batch_size",
           "a batch of one clip has no other to cut the prompt from: use --batch-size 2 or more, "
           "or --prompt-from clip");
  }
  if (train.prompt_mask == PromptMask::Peer) {
    refuse(config, "train.prompt_from", "train.prompt_mask",
           "coqui-tts cuts prompts from the clip itself: leave one of them out");
  }
}

// What only the GPT's stage has, and what only the others have.
void check_stage(const EffectiveConfig& config) {
  const TrainConfig& train = config.values.train;
  if (!facts_of(train.stage).on_windows) {
    const std::string_view remedy = "the part gpt takes whole clips: leave the windows out";
    if (train.windows_per_clip) refuse(config, "train.stage", "train.windows_per_clip", remedy);
    if (train.window) refuse(config, "train.stage", "train.window", remedy);
    return;
  }
  if (config.values.data.cache_dataset) {
    refuse(config, "train.stage", "data.cache_dataset",
           fmt::format("the feature cache serves the part gpt alone: leave {} out",
                       source_of(config, "data.cache_dataset")));
  }
  if (config.values.devices.mode == Mode::Auto) {
    refuse(config, "train.stage", "devices.mode",
           "placements are measured with the part gpt: name a mode, as in --mode single");
  }
  const std::string_view remedy = "that saves memory of the part gpt alone: leave it out";
  if (train.recompute.value_or(false)) refuse(config, "train.stage", "train.recompute", remedy);
  if (train.release_gradients.value_or(false)) {
    refuse(config, "train.stage", "train.release_gradients", remedy);
  }
}

void check_start(const EffectiveConfig& config) {
  if (config.values.train.init && config.values.train.vocab) {
    const std::string init = config.values.train.init->string();
    refuse(config, "train.init", "train.vocab",
           fmt::format("a model brings its own vocabulary: leave {} out, or let the model grow "
                       "by a language (myxtts vocab extend --model {} --language CODE --text "
                       "sentences.txt --out {})",
                       source_of(config, "train.vocab"), shell_word(init),
                       shell_word(name_beside(init, "-grown").string())));
  }
}

// Nothing is held back to measure on.
void check_validation(const EffectiveConfig& config) {
  const RunDirectoryConfig& run = config.values.run;
  if (!config.values.data.val_data.empty() || config.values.data.val_fraction > 0) return;
  const auto refuse_measuring = [&config](std::string_view key) {
    refuse(config, key, "data.val_fraction",
           fmt::format("give --val-data, or leave {} out", source_of(config, key)));
  };
  if (config.values.train.hand_on == HandOn::Best) refuse_measuring("train.hand_on");
  if (run.early_stopping) refuse_measuring("run.early_stopping");
  if (run.eval_steps) refuse_measuring("run.eval_steps");
  if (run.test_sentences) refuse_measuring("run.test_sentences");
  if (run.judge) refuse_measuring("run.judge");
}

// A recogniser listens to samples, and without one nothing is known of their characters.
void check_judging(const EffectiveConfig& config) {
  const RunDirectoryConfig& run = config.values.run;
  if (run.judge && run.samples == 0 && !run.test_sentences) {
    refuse(config, "run.judge", "run.samples", "let it make some, as with --samples 3");
  }
  if (run.best_by == BestBy::Cer && !run.judge) {
    refuse(config, "run.best_by", "run.judge",
           "name a recogniser, as in --judge whisper=faster-whisper-base");
  }
}

}  // namespace

namespace {

// Each part learns from what those before it make: codes of the DVAE, states of the GPT, the
// vectors of the speaker encoder.
void check_order(const EffectiveConfig& config) {
  const std::vector<ModelPart>& stages = *config.values.train.stages;
  const auto place = [&stages](ModelPart part) { return std::ranges::find(stages, part); };
  for (const auto& [first, second] :
       {std::pair(ModelPart::Dvae, ModelPart::Gpt), std::pair(ModelPart::Dvae, ModelPart::Decoder),
        std::pair(ModelPart::Gpt, ModelPart::Decoder),
        std::pair(ModelPart::Speaker, ModelPart::Decoder)}) {
    if (place(first) == stages.end() || place(first) < place(second)) continue;
    if (place(second) == stages.end()) continue;
    std::vector<ModelPart> right;
    for (const ModelPart part :
         {ModelPart::Dvae, ModelPart::Speaker, ModelPart::Gpt, ModelPart::Decoder}) {
      if (place(part) != stages.end()) right.push_back(part);
    }
    throw ConfigError(fmt::format(
        "{}, but the part {} learns from what {} makes, so that {} comes first; give --stages {}.",
        statement(config, "train.stages"), name_of(second), name_of(first), name_of(first),
        format_parts(right)));
  }
}

}  // namespace

void check_chain(const EffectiveConfig& config) {
  if (!config.values.train.stages) return;
  check_order(config);
  const bool names_one =
      !config.origins.empty() && config.origin_of("train.stage").kind == Origin::Kind::Flag;
  if (names_one &&
      config.origin_of("train.stages").name == own_file_of_resumed(config.values).string()) {
    throw ConfigError(fmt::format(
        "{} holds a run of several parts ({}): continue it without --stage, or give this part a "
        "folder of its own with --checkpoint-dir.",
        config.values.run.checkpoint_dir.string(), format_parts(*config.values.train.stages)));
  }
  if (names_one) {
    refuse(config, "train.stages", "train.stage",
           "give --stage, or --stages none to train it alone");
  }
  const auto& resume = config.values.run.resume;
  if (resume && *resume != "latest") {
    refuse(config, "train.stages", "run.resume",
           "the stages go on where they stopped with --resume alone");
  }
  if (config.values.devices.mode == Mode::Auto) {
    refuse(config, "train.stages", "devices.mode",
           "a placement is measured for one stage: name a mode, as in --mode single, or train the "
           "stages one by one with --stage");
  }
}

void check_consistency(const EffectiveConfig& config) {
  check_ranks(config);
  check_gpu_pair(config);
  check_cpu_only(config);
  check_mode(config);
  check_memory_caps(config);
  check_limits(config);
  check_batch(config);
  check_optimiser(config);
  check_stage(config);
  check_shift(config);
  check_prompts(config);
  check_start(config);
  check_validation(config);
  check_judging(config);
}

}  // namespace myxtts
