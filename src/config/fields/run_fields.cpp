// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"

namespace myxtts {

void add_devices_fields(std::vector<Field>& fields) {
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
                                 {"peer", TransferPath::P2p},
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

void add_parallel_fields(std::vector<Field>& fields) {
  fields.push_back(bind({.key = "parallel.gpus",
                         .flag = "--gpus",
                         .placeholder = "LIST",
                         .group = "Several processes",
                         .sentence = "GPUs of this host that train one model together, a rank on "
                                     "each; with --data-gpu, that one feeds them all."},
                        MYXTTS_MEMBER(parallel.gpus), gpu_numbers(), "none"));
  fields.push_back(bind({.key = "parallel.ranks",
                         .flag = "--ranks",
                         .placeholder = "N",
                         .group = "Several processes",
                         .sentence = "So many ranks in this process, fed by one data device; on "
                                     "the CPU, where there are no --gpus to name."},
                        MYXTTS_MEMBER(parallel.ranks), integer_between(1, 64), "none"));
  fields.push_back(bind({.key = "parallel.rank_timeout",
                         .flag = "--rank-timeout",
                         .placeholder = "SECONDS",
                         .group = "Several processes",
                         .sentence = "How long ranks wait for one that does not answer before the "
                                     "run ends everywhere."},
                        MYXTTS_MEMBER(parallel.rank_timeout), number_between(1, 86'400)));
  fields.push_back(bind(
      {.key = "parallel.wire",
       .flag = "--wire",
       .placeholder = "KIND",
       .group = "Several processes",
       .sentence = "The numbers in which gradients go from rank to rank; bf16 halves what is "
                   "sent and rounds it."},
      MYXTTS_MEMBER(parallel.wire), one_of<Wire>({{"fp32", Wire::Fp32}, {"bf16", Wire::Bf16}})));
  fields.push_back(bind({.key = "parallel.shard_optimiser",
                         .flag = "--shard-optimiser",
                         .negative_flag = "--no-shard-optimiser",
                         .group = "Several processes",
                         .sentence = "Each rank keeps AdamW's averages of its own part of the "
                                     "model alone, and updates that part for all."},
                        MYXTTS_MEMBER(parallel.shard_optimiser), true_or_false()));
}

namespace {

void add_directory(std::vector<Field>& fields) {
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

void add_saving(std::vector<Field>& fields) {
  fields.push_back(bind({.key = "run.save_steps",
                         .flag = "--save-steps",
                         .placeholder = "N",
                         .group = "Run",
                         .sentence = "Write a checkpoint every so many steps."},
                        MYXTTS_MEMBER(run.save_steps), integer_between(1, 1'000'000'000), "none"));
  fields.push_back(bind({.key = "run.save_minutes",
                         .flag = "--save-minutes",
                         .placeholder = "MINUTES",
                         .group = "Run",
                         .sentence = "Write a checkpoint every so many minutes."},
                        MYXTTS_MEMBER(run.save_minutes), number_between(0.001, 100'000), "none"));
  fields.push_back(bind({.key = "run.keep_last",
                         .flag = "--keep-last",
                         .placeholder = "N",
                         .group = "Run",
                         .sentence = "How many of the newest checkpoints stay."},
                        MYXTTS_MEMBER(run.keep_last), integer_between(1, 100'000)));
  fields.push_back(bind({.key = "run.keep_best",
                         .flag = "--keep-best",
                         .placeholder = "N",
                         .group = "Run",
                         .sentence = "How many of the best ones by validation loss stay."},
                        MYXTTS_MEMBER(run.keep_best), integer_between(0, 100'000)));
}

void add_measuring(std::vector<Field>& fields) {
  fields.push_back(
      bind({.key = "run.eval_steps",
            .flag = "--eval-steps",
            .placeholder = "N",
            .group = "Run",
            .sentence = "Measure on the validation clips every so many steps; auto once an epoch."},
           MYXTTS_MEMBER(run.eval_steps), integer_between(1, 1'000'000'000), "auto"));
  fields.push_back(
      bind({.key = "run.early_stopping",
            .flag = "--early-stopping",
            .placeholder = "N",
            .group = "Run",
            .sentence = "End after so many measurements without a better validation loss."},
           MYXTTS_MEMBER(run.early_stopping), integer_between(1, 1'000'000), "none"));
  fields.push_back(bind({.key = "run.log_steps",
                         .flag = "--log-steps",
                         .placeholder = "N",
                         .group = "Run",
                         .sentence = "Steps between two lines of metrics."},
                        MYXTTS_MEMBER(run.log_steps), integer_between(1, 1'000'000)));
  fields.push_back(
      bind({.key = "run.histograms",
            .flag = "--histograms",
            .negative_flag = "--no-histograms",
            .group = "Run",
            .sentence = "Write histograms of weights for TensorBoard at each measurement."},
           MYXTTS_MEMBER(run.histograms), true_or_false()));
  fields.push_back(
      bind({.key = "run.samples",
            .flag = "--samples",
            .placeholder = "N",
            .group = "Run",
            .sentence = "Validation clips that each measurement makes sound and pictures of; 0: "
                        "none."},
           MYXTTS_MEMBER(run.samples), integer_between(0, 1000)));
  fields.push_back(bind(
      {.key = "run.test_sentences",
       .flag = "--test-sentences",
       .placeholder = "FILE",
       .group = "Run",
       .sentence = "Sentences, one a line, that each measurement speaks into the run directory, "
                   "with the voice of a validation clip."},
      MYXTTS_MEMBER(run.test_sentences), path_of("a text file"), "none"));
  fields.push_back(bind({.key = "run.trace",
                         .flag = "--trace",
                         .placeholder = "FILE",
                         .group = "Run",
                         .sentence = "Write a timeline of every thread and stream, for Perfetto or "
                                     "chrome://tracing."},
                        MYXTTS_MEMBER(run.trace), path_of("a file"), "none"));
}

}  // namespace

void add_run_fields(std::vector<Field>& fields) {
  add_directory(fields);
  add_saving(fields);
  add_measuring(fields);
}

}  // namespace myxtts
