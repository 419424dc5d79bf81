// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "config/field.h"
#include "config/field_binding.h"

// The member of a RunConfig, constant where the RunConfig is.
#define MYXTTS_MEMBER(path)   \
  [](auto& config) -> auto& { \
    return config.path;       \
  }

namespace myxtts {
namespace {

constexpr std::int64_t kMostGpu = 63;

// What tells how a corpus is read, for every command that reads one.
const std::vector<std::string> kCorpusCommands = {"config", "train", "prepare", "evaluate"};

void add_data(std::vector<Field>& fields) {
  fields.push_back(bind_corpora(
      {.key = "data.train_data",
       .flag = "--train-data",
       .placeholder = "DIR",
       .group = "Data",
       .sentence = "A corpus to train on, in any of the layouts; may be given several times."},
      &DataConfig::train_data));
  fields.push_back(bind_corpora(
      {.key = "data.val_data",
       .flag = "--val-data",
       .placeholder = "DIR",
       .group = "Data",
       .sentence = "A corpus to measure on; none keeps part of the training corpora back."},
      &DataConfig::val_data));
  fields.push_back(
      bind({.key = "data.val_fraction",
            .flag = "--val-fraction",
            .placeholder = "SHARE",
            .group = "Data",
            .sentence = "The share of clips kept back to measure on where there is no --val-data."},
           MYXTTS_MEMBER(data.val_fraction), number_between(0.0, 0.5)));
  fields.push_back(bind({.key = "data.language",
                         .flag = "--language",
                         .placeholder = "CODE",
                         .group = "Data",
                         .sentence = "The language of clips that do not name their own.",
                         .commands = kCorpusCommands},
                        MYXTTS_MEMBER(data.language), language_code()));
  fields.push_back(bind(
      {.key = "data.language_weights",
       .flag = "--language-weights",
       .placeholder = "LIST",
       .group = "Data",
       .sentence = "How often an epoch visits the clips of a language, as in fa=3,en=1; 1 for "
                   "those not named."},
      MYXTTS_MEMBER(data.language_weights), weights_of("languages such as fa=3,en=1.5"), "none"));
  fields.push_back(bind(
      {.key = "data.speaker_weights",
       .flag = "--speaker-weights",
       .placeholder = "LIST",
       .group = "Data",
       .sentence = "How often an epoch visits the clips of a speaker, as in ann=2; times the "
                   "weights of corpus and language."},
      MYXTTS_MEMBER(data.speaker_weights), weights_of("speakers such as ann=2,bob=0.5"), "none"));
  fields.push_back(
      bind({.key = "data.format",
            .flag = "--format",
            .placeholder = "LAYOUT",
            .group = "Data",
            .sentence = "The layout of corpora that name none; auto finds it by looking.",
            .commands = {"train", "prepare", "evaluate"}},
           MYXTTS_MEMBER(data.format), corpus_layout(), "auto"));
  fields.push_back(
      bind({.key = "data.cache_dataset",
            .flag = "--cache-dataset",
            .negative_flag = "--no-cache-dataset",
            .group = "Data",
            .sentence = "Keep computed features on disk, so that later epochs only read them."},
           MYXTTS_MEMBER(data.cache_dataset), true_or_false()));
  fields.push_back(
      bind({.key = "data.cache_dir",
            .flag = "--cache-dir",
            .placeholder = "DIR",
            .group = "Data",
            .sentence = "Where indexes and computed features are kept; auto is the run directory.",
            .commands = kCorpusCommands},
           MYXTTS_MEMBER(data.cache_dir), path_of("a folder"), "auto"));
}

void add_limits(std::vector<Field>& fields) {
  fields.push_back(bind({.key = "data.min_seconds",
                         .flag = "--min-seconds",
                         .placeholder = "SECONDS",
                         .group = "Clips left out",
                         .sentence = "Clips shorter than this are left out.",
                         .commands = kCorpusCommands},
                        MYXTTS_MEMBER(data.min_seconds), number_between(0.05, 28.0)));
  fields.push_back(
      bind({.key = "data.max_seconds",
            .flag = "--max-seconds",
            .placeholder = "SECONDS",
            .group = "Clips left out",
            .sentence = "Clips longer than this are left out; auto is 255,995 samples at 22,050 "
                        "Hz, which is 11.6 s and a little.",
            .commands = kCorpusCommands},
           MYXTTS_MEMBER(data.max_seconds), number_between(0.05, 28.0), "auto"));
  fields.push_back(bind({.key = "data.max_text_tokens",
                         .flag = "--max-text-tokens",
                         .placeholder = "N",
                         .group = "Clips left out",
                         .sentence = "Clips with more tokens of text than this are left out.",
                         .commands = kCorpusCommands},
                        MYXTTS_MEMBER(data.max_text_tokens), integer_between(1, 402)));
  fields.push_back(
      bind({.key = "data.min_chars_per_second",
            .flag = "--min-chars-per-second",
            .placeholder = "RATE",
            .group = "Clips left out",
            .sentence = "Clips with less text than this for their length are left out: the text "
                        "is likely another clip's.",
            .commands = kCorpusCommands},
           MYXTTS_MEMBER(data.min_chars_per_second), number_between(0.0, 1000.0)));
  fields.push_back(
      bind({.key = "data.max_chars_per_second",
            .flag = "--max-chars-per-second",
            .placeholder = "RATE",
            .group = "Clips left out",
            .sentence = "Clips with more text than anybody speaks in their length are left out.",
            .commands = kCorpusCommands},
           MYXTTS_MEMBER(data.max_chars_per_second), number_between(0.0, 1000.0)));
  fields.push_back(bind({.key = "data.max_skipped",
                         .flag = "--max-skipped",
                         .placeholder = "SHARE",
                         .group = "Clips left out",
                         .sentence = "The share of clips that may be left out before it is an "
                                     "error.",
                         .commands = kCorpusCommands},
                        MYXTTS_MEMBER(data.max_skipped), number_between(0.0, 1.0)));
  fields.push_back(bind({.key = "data.strict",
                         .flag = "--strict",
                         .negative_flag = "--no-strict",
                         .group = "Clips left out",
                         .sentence = "Make the first clip that would be left out an error.",
                         .commands = kCorpusCommands},
                        MYXTTS_MEMBER(data.strict), true_or_false()));
}

void add_pipeline(std::vector<Field>& fields) {
  fields.push_back(
      bind({.key = "data.data_gpu",
            .flag = "--data-gpu",
            .placeholder = "N",
            .group = "Devices",
            .sentence = "The GPU that decodes and computes features, in nvidia-smi's order; needs "
                        "a model GPU too."},
           MYXTTS_MEMBER(data.data_gpu), integer_between(0, kMostGpu), "none"));
  fields.push_back(
      bind({.key = "data.model_gpu",
            .flag = "--model-gpu",
            .placeholder = "N",
            .group = "Devices",
            .sentence = "The GPU that trains, in nvidia-smi's order; needs a data GPU too."},
           MYXTTS_MEMBER(data.model_gpu), integer_between(0, kMostGpu), "none"));
  fields.push_back(bind({.key = "data.num_workers",
                         .flag = "--num-workers",
                         .placeholder = "N",
                         .group = "Pipeline",
                         .sentence = "Threads that read and decode clips; auto begins with a "
                                     "quarter of the cores and adds while "
                                     "batches are waited for.",
                         .commands = {"config", "train", "prepare"}},
                        MYXTTS_MEMBER(data.num_workers), integer_between(1, 1024), "auto"));
  fields.push_back(bind(
      {.key = "data.pipeline_buffer_size",
       .flag = "--buffer-size",
       .placeholder = "N",
       .group = "Pipeline",
       .sentence =
           "Decoded batches held ready in host memory; auto begins with 8 and adds where clips are "
           "uneven."},
      MYXTTS_MEMBER(data.pipeline_buffer_size), integer_between(1, 10'000), "auto"));
  fields.push_back(
      bind({.key = "data.prefetch_buffer_size",
            .flag = "--prefetch-buffer-size",
            .placeholder = "N",
            .group = "Pipeline",
            .sentence = "Batches held ready on the model device; auto takes 3, and on two GPUs "
                        "what their memory allows."},
           MYXTTS_MEMBER(data.prefetch_buffer_size), integer_between(2, 64), "auto"));
  fields.push_back(
      bind({.key = "data.model_start_delay",
            .flag = "--model-start-delay",
            .placeholder = "SECONDS",
            .group = "Pipeline",
            .sentence = "On two GPUs and on a split one, training starts no sooner than this."},
           MYXTTS_MEMBER(data.model_start_delay), number_between(0.0, 3600.0)));
}

void add_devices(std::vector<Field>& fields) {
  fields.push_back(bind(
      {.key = "devices.device",
       .flag = "--device",
       .placeholder = "KIND",
       .group = "Devices",
       .sentence = "What to compute on; auto takes a GPU where there is one.",
       .commands = kCorpusCommands},
      MYXTTS_MEMBER(devices.device),
      one_of<DeviceKind>(
          {{"auto", DeviceKind::Auto}, {"cpu", DeviceKind::Cpu}, {"cuda", DeviceKind::Cuda}})));
  fields.push_back(
      bind({.key = "devices.mode",
            .flag = "--mode",
            .placeholder = "MODE",
            .group = "Devices",
            .sentence = "How data work and training share the devices; auto measures and takes the "
                        "fastest, none follows from the other device settings."},
           MYXTTS_MEMBER(devices.mode),
           one_of<Mode>({{"auto", Mode::Auto},
                         {"dual", Mode::Dual},
                         {"single", Mode::Single},
                         {"split", Mode::Split},
                         {"cpu", Mode::Cpu}}),
           "none"));
  fields.push_back(
      bind({.key = "devices.split_gpu",
            .flag = "--split-gpu",
            .placeholder = "N[:SMS]",
            .group = "Devices",
            .sentence = "One GPU used as two, with so many of its multiprocessors for data work."},
           MYXTTS_MEMBER(devices.split_gpu), gpu_with_multiprocessors(), "none"));
  fields.push_back(
      bind({.key = "devices.transfer_path",
            .flag = "--transfer-path",
            .placeholder = "PATH",
            .group = "Devices",
            .sentence = "How batches go from the data GPU to the model GPU: from card to card, or "
                        "through host memory."},
           MYXTTS_MEMBER(devices.transfer_path),
           one_of<TransferPath>({{"auto", TransferPath::Auto},
                                 {"peer", TransferPath::Peer},
                                 {"host", TransferPath::Host}})));
  fields.push_back(bind({.key = "devices.enable_memory_isolation",
                         .flag = "--enable-memory-isolation",
                         .negative_flag = "--disable-memory-isolation",
                         .group = "Devices",
                         .sentence = "Give data work and training a memory cap each."},
                        MYXTTS_MEMBER(devices.enable_memory_isolation), true_or_false()));
  fields.push_back(
      bind({.key = "devices.data_gpu_memory",
            .flag = "--data-gpu-memory",
            .placeholder = "MB",
            .group = "Devices",
            .sentence = "The cap on GPU memory for data work, in MB of 1,048,576 bytes."},
           MYXTTS_MEMBER(devices.data_gpu_memory), integer_between(256, 1'048'576), "auto"));
  fields.push_back(
      bind({.key = "devices.model_gpu_memory",
            .flag = "--model-gpu-memory",
            .placeholder = "MB",
            .group = "Devices",
            .sentence = "The cap on GPU memory for training, in MB of 1,048,576 bytes."},
           MYXTTS_MEMBER(devices.model_gpu_memory), integer_between(256, 1'048'576), "auto"));
  fields.push_back(
      bind({.key = "devices.data_threads",
            .flag = "--data-threads",
            .placeholder = "N",
            .group = "Devices",
            .sentence = "Threads that compute features on the CPU; auto takes a quarter of the "
                        "cores."},
           MYXTTS_MEMBER(devices.data_threads), integer_between(1, 1024), "auto"));
  fields.push_back(bind({.key = "devices.model_threads",
                         .flag = "--model-threads",
                         .placeholder = "N",
                         .group = "Devices",
                         .sentence = "Threads that train on the CPU; auto takes the other cores."},
                        MYXTTS_MEMBER(devices.model_threads), integer_between(1, 1024), "auto"));
}

void add_model(std::vector<Field>& fields) {
  fields.push_back(bind(
      {.key = "train.stage",
       .flag = "--stage",
       .placeholder = "STAGE",
       .group = "Model",
       .sentence = "The part of the network to train."},
      MYXTTS_MEMBER(train.stage),
      one_of<Stage>({{"gpt", Stage::Gpt}, {"dvae", Stage::Dvae}, {"decoder", Stage::Decoder}})));
  fields.push_back(bind(
      {.key = "train.model_size",
       .flag = "--model-size",
       .placeholder = "SIZE",
       .group = "Model",
       .sentence = "The size of the network; xtts-v2 is that of the public model."},
      MYXTTS_MEMBER(train.model_size), word_of({"tiny", "small", "normal", "big", "xtts-v2"})));
  fields.push_back(bind({.key = "train.init",
                         .flag = "--init",
                         .placeholder = "DIR",
                         .group = "Model",
                         .sentence = "The model to start from; none starts from random weights."},
                        MYXTTS_MEMBER(train.init), path_of("a model directory"), "none"));
}

void add_training(std::vector<Field>& fields) {
  fields.push_back(
      bind({.key = "train.batch_size",
            .flag = "--batch-size",
            .placeholder = "N",
            .group = "Training",
            .sentence = "Clips in a batch; auto takes what the device's memory allows.",
            .commands = {"config", "train", "prepare"}},
           MYXTTS_MEMBER(train.batch_size), integer_between(1, 4096), "auto"));
  fields.push_back(
      bind({.key = "train.batch_tokens",
            .flag = "--batch-tokens",
            .placeholder = "N",
            .group = "Training",
            .sentence = "Tokens in a batch, text and codes together, in place of a clip count.",
            .commands = {"config", "train", "prepare"}},
           MYXTTS_MEMBER(train.batch_tokens), integer_between(1024, 10'000'000), "none"));
  fields.push_back(
      bind({.key = "train.grad_accum",
            .flag = "--grad-accum",
            .placeholder = "N",
            .group = "Training",
            .sentence = "Batches whose gradients are summed before the weights change."},
           MYXTTS_MEMBER(train.grad_accum), integer_between(1, 4096)));
  fields.push_back(bind({.key = "train.epochs",
                         .flag = "--epochs",
                         .placeholder = "N",
                         .group = "Training",
                         .sentence = "How often the whole corpus is gone through."},
                        MYXTTS_MEMBER(train.epochs), integer_between(1, 1'000'000)));
  fields.push_back(bind({.key = "train.max_steps",
                         .flag = "--max-steps",
                         .placeholder = "N",
                         .group = "Training",
                         .sentence = "Stop after so many steps, even in the middle of an epoch."},
                        MYXTTS_MEMBER(train.max_steps), integer_between(1, 1'000'000'000), "none"));
  fields.push_back(bind({.key = "train.lr",
                         .flag = "--lr",
                         .placeholder = "RATE",
                         .group = "Training",
                         .sentence = "The learning rate."},
                        MYXTTS_MEMBER(train.lr), number_between(1e-12, 1.0)));
  fields.push_back(bind({.key = "train.seed",
                         .flag = "--seed",
                         .placeholder = "N",
                         .group = "Training",
                         .sentence = "Equal seeds give equal weights, order of clips and dropout."},
                        MYXTTS_MEMBER(train.seed),
                        integer_between(0, std::numeric_limits<std::int64_t>::max())));
}

void add_arithmetic(std::vector<Field>& fields) {
  fields.push_back(
      bind({.key = "train.precision",
            .flag = "--precision",
            .placeholder = "KIND",
            .group = "Training",
            .sentence = "The arithmetic; auto takes bf16 where the GPU has it, fp32 elsewhere."},
           MYXTTS_MEMBER(train.precision),
           one_of<Precision>({{"auto", Precision::Auto},
                              {"fp32", Precision::Fp32},
                              {"tf32", Precision::Tf32},
                              {"bf16", Precision::Bf16},
                              {"fp16", Precision::Fp16}})));
  fields.push_back(bind(
      {.key = "train.enable_static_shapes",
       .flag = "--enable-static-shapes",
       .negative_flag = "--disable-static-shapes",
       .group = "Training",
       .sentence = "On a GPU, pad batches to a few sizes and replay each as a recorded graph."},
      MYXTTS_MEMBER(train.enable_static_shapes), true_or_false()));
  fields.push_back(bind(
      {.key = "train.deterministic",
       .flag = "--deterministic",
       .negative_flag = "--no-deterministic",
       .group = "Training",
       .sentence = "Use only operations that give equal results each time, at some cost in speed."},
      MYXTTS_MEMBER(train.deterministic), true_or_false()));
}

void add_run(std::vector<Field>& fields) {
  fields.push_back(bind({.key = "run.checkpoint_dir",
                         .flag = "--checkpoint-dir",
                         .placeholder = "DIR",
                         .group = "Run",
                         .sentence = "The run directory: checkpoints, metrics and log."},
                        MYXTTS_MEMBER(run.checkpoint_dir), path_of("a folder")));
  fields.push_back(bind(
      {.key = "run.resume",
       .flag = "--resume",
       .bare_value = "latest",
       .placeholder = "STEP|PATH",
       .group = "Run",
       .sentence = "Continue from a checkpoint; without a value from the newest one of the run "
                   "directory."},
      MYXTTS_MEMBER(run.resume), resume_point(), "none"));
}

std::vector<Field> make_fields() {
  std::vector<Field> fields;
  add_data(fields);
  add_limits(fields);
  add_pipeline(fields);
  add_devices(fields);
  add_model(fields);
  add_training(fields);
  add_arithmetic(fields);
  add_run(fields);
  return fields;
}

}  // namespace

std::span<const Field> all_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

const Field* find_field(std::string_view key) {
  for (const Field& field : all_fields()) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

std::string_view section_of(std::string_view key) {
  return key.substr(0, key.find('.'));
}

}  // namespace myxtts
