// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"

namespace myxtts {
namespace {

void add_corpora(std::vector<Field>& fields) {
  FieldGroup data(fields, "Data");
  data.add_corpora("data.train_data", &DataConfig::train_data,
                   "A corpus to train on, in any of the layouts; may be given several times.");
  data.add_corpora("data.val_data", &DataConfig::val_data,
                   "A corpus to measure on; none keeps part of the training corpora back.");
  data.add(MYXTTS_FIELD(data.val_fraction), "SHARE", number_between(0.0, 0.5),
           "The share of clips kept back to measure on where there is no --val-data; of a small "
           "corpus a tenth, up to eight clips.");
  data.add(MYXTTS_FIELD(data.language), "CODE", language_code(),
           "The language of clips that do not name their own.")
      .commands = kCorpusCommands;
  data.add(
      MYXTTS_FIELD(data.language_weights), "LIST",
      or_none(weights_of("languages such as fa=3,en=1.5")),
      "How often an epoch visits the clips of a language, as in fa=3,en=1; 1 for those not named.");
  data.add(MYXTTS_FIELD(data.speaker_weights), "LIST",
           or_none(weights_of("speakers such as ann=2,bob=0.5")),
           "How often an epoch visits the clips of a speaker, as in ann=2; times the weights of "
           "corpus and language.");
  data.add(MYXTTS_FIELD(data.format), "LAYOUT", or_auto(corpus_layout()),
           "The layout of corpora that name none; auto finds it by looking.")
      .commands = {"train", "prepare", "evaluate"};
  data.add_switch(MYXTTS_FIELD(data.cache_dataset),
                  "Keep computed features on disk, so that later epochs only read them.");
  data.add(MYXTTS_FIELD(data.cache_dir), "DIR", or_auto(path_of("a folder")),
           "Where indexes and computed features are kept; auto is the run directory.")
      .commands = kCorpusCommands;
}

void add_limits(std::vector<Field>& fields) {
  FieldGroup clips(fields, "Clips left out", kCorpusCommands);
  clips.add(MYXTTS_FIELD(data.min_seconds), "SECONDS", number_between(0.05, 28.0),
            "Clips shorter than this are left out.");
  clips.add(MYXTTS_FIELD(data.max_seconds), "SECONDS", or_auto(number_between(0.05, 28.0)),
            "Clips longer than this are left out; auto is 255,995 samples at 22,050 Hz, which is "
            "11.6 s and a little.");
  clips.add(MYXTTS_FIELD(data.max_text_tokens), "N", integer_between(1, 402),
            "Clips with more tokens of text than this are left out.");
  clips.add(MYXTTS_FIELD(data.min_chars_per_second), "RATE", number_between(0.0, 1000.0),
            "Clips with less text than this for their length are left out: the text is likely "
            "another clip's.");
  clips.add(MYXTTS_FIELD(data.max_chars_per_second), "RATE", number_between(0.0, 1000.0),
            "Clips with more text than anybody speaks in their length are left out.");
  clips.add(MYXTTS_FIELD(data.max_skipped), "SHARE", number_between(0.0, 1.0),
            "The share of clips that may be left out before it is an error.");
  clips.add_switch(MYXTTS_FIELD(data.strict),
                   "Make the first clip that would be left out an error.");
}

void add_pipeline(std::vector<Field>& fields) {
  FieldGroup devices(fields, "Devices");
  FieldGroup pipeline(fields, "Pipeline");
  devices.add(
      "data.data_gpu", MYXTTS_MEMBER(data.data_gpu), "N", or_none(integer_between(0, kMostGpu)),
      "The GPU that decodes and computes features, in nvidia-smi's order; needs a model GPU too.");
  devices.add("data.model_gpu", MYXTTS_MEMBER(data.model_gpu), "N",
              or_none(integer_between(0, kMostGpu)),
              "The GPU that trains, in nvidia-smi's order; needs a data GPU too.");
  pipeline
      .add(MYXTTS_FIELD(data.num_workers), "N", or_auto(integer_between(1, 1024)),
           "Threads that read and decode clips; auto begins with a quarter of the cores and adds "
           "while batches are waited for.")
      .commands = {"config", "train", "prepare"};
  pipeline
      .add(
          MYXTTS_FIELD(data.pipeline_buffer_size), "N", or_auto(integer_between(1, 10'000)),
          "Decoded batches held ready in host memory; auto takes what a quarter of the free memory "
          "holds, from 4 up to an epoch or 50, and adds where clips are uneven.")
      .flag = "--buffer-size";
  pipeline.add(MYXTTS_FIELD(data.prefetch_buffer_size), "N", or_auto(integer_between(2, 64)),
               "Batches held ready on the model device; auto takes 3, and on two GPUs what their "
               "memory allows.");
  pipeline.add(MYXTTS_FIELD(data.model_start_delay), "SECONDS", number_between(0.0, 3600.0),
               "On two GPUs and on a split one, training starts no sooner than this.");
}

void add_data_fields(std::vector<Field>& fields) {
  add_corpora(fields);
  add_limits(fields);
  add_pipeline(fields);
}

void add_devices_fields(std::vector<Field>& fields) {
  FieldGroup devices(fields, "Devices");
  devices
      .add(MYXTTS_FIELD(devices.device), "KIND",
           also_called("gpu", DeviceKind::Cuda,
                       one_of<DeviceKind>({{"auto", DeviceKind::Auto},
                                           {"cpu", DeviceKind::Cpu},
                                           {"cuda", DeviceKind::Cuda}})),
           "What to compute on; auto takes a GPU where there is one, and gpu means cuda.")
      .commands = kCorpusCommands;
  devices.add(MYXTTS_FIELD(devices.mode), "MODE",
              or_none(one_of<Mode>({{"auto", Mode::Auto},
                                    {"dual", Mode::Dual},
                                    {"single", Mode::Single},
                                    {"split", Mode::Split},
                                    {"cpu", Mode::Cpu}})),
              "How data work and training share the devices; auto measures and takes the fastest, "
              "none follows from the other device settings.");
  devices.add(MYXTTS_FIELD(devices.split_gpu), "N[:SMS]", or_none(gpu_with_multiprocessors()),
              "One GPU used as two, with so many of its multiprocessors for data work.");
  devices.add(MYXTTS_FIELD(devices.transfer_path), "PATH",
              one_of<TransferPath>({{"auto", TransferPath::Auto},
                                    {"peer", TransferPath::P2p},
                                    {"host", TransferPath::Host}}),
              "How batches go from the data GPU to the model GPU: from card to card, or through "
              "host memory.");
  devices.add_switch(MYXTTS_FIELD(devices.enable_memory_isolation),
                     "Give data work and training a memory cap each.");
  devices.add(MYXTTS_FIELD(devices.data_gpu_memory), "MB", or_auto(integer_between(256, 1'048'576)),
              "The cap on GPU memory for data work, in MB of 1,048,576 bytes.");
  devices.add(MYXTTS_FIELD(devices.model_gpu_memory), "MB",
              or_auto(integer_between(256, 1'048'576)),
              "The cap on GPU memory for training, in MB of 1,048,576 bytes.");
  devices.add(MYXTTS_FIELD(devices.data_threads), "N", or_auto(integer_between(1, 1024)),
              "Threads that compute features on the CPU; auto takes a quarter of the cores.");
  devices.add(MYXTTS_FIELD(devices.model_threads), "N", or_auto(integer_between(1, 1024)),
              "Threads that train on the CPU; auto takes the other cores.");
}

void add_parallel_fields(std::vector<Field>& fields) {
  FieldGroup ranks(fields, "Several processes");
  ranks.add("parallel.gpus", MYXTTS_MEMBER(devices.gpus), "LIST", or_none(gpu_numbers()),
            "GPUs of this host that train one model together, a rank on each; with --data-gpu, "
            "that one feeds them all.");
  ranks.add(MYXTTS_FIELD(parallel.ranks), "N", or_none(integer_between(1, 64)),
            "So many ranks in this process, fed by one data device; on the CPU, where there are no "
            "--gpus to name.");
  ranks.add(MYXTTS_FIELD(parallel.rank_timeout), "SECONDS", number_between(1, 86'400),
            "How long ranks wait for one that does not answer before the run ends everywhere.");
  ranks.add(MYXTTS_FIELD(parallel.wire), "KIND",
            one_of<Wire>({{"fp32", Wire::Fp32}, {"bf16", Wire::Bf16}}),
            "The numbers in which gradients go from rank to rank; bf16 halves what is sent and "
            "rounds it.");
  ranks.add_switch(MYXTTS_FIELD(parallel.shard_optimiser),
                   "Each rank keeps AdamW's averages of its own part of the model alone, and "
                   "updates that part for all.");
}

void add_directory(std::vector<Field>& fields) {
  FieldGroup run(fields, "Run");
  run.add(MYXTTS_FIELD(run.checkpoint_dir), "DIR", path_of("a folder"),
          "The run directory: checkpoints, metrics and log.");
  run.add(MYXTTS_FIELD(run.resume), "STEP|PATH", or_none(resume_point()),
          "Continue from a checkpoint; without a value from the newest one of the run directory, "
          "with "
          "the path of a run from its newest, there.")
      .bare_value = "latest";
}

void add_saving(std::vector<Field>& fields) {
  FieldGroup run(fields, "Run");
  run.add(MYXTTS_FIELD(run.save_steps), "N", or_none(integer_between(1, 1'000'000'000)),
          "Write a checkpoint every so many steps.");
  run.add(MYXTTS_FIELD(run.save_minutes), "MINUTES", or_none(number_between(0.001, 100'000)),
          "Write a checkpoint every so many minutes.");
  run.add(MYXTTS_FIELD(run.keep_last), "N", integer_between(1, 100'000),
          "How many of the newest checkpoints stay.");
  run.add(MYXTTS_FIELD(run.keep_best), "N", integer_between(0, 100'000),
          "How many of the best ones stay.");
  run.add(
      MYXTTS_FIELD(run.best_by), "WHAT",
      one_of<BestBy>({{"loss", BestBy::Loss}, {"cer", BestBy::Cer}}),
      "What the best checkpoint is chosen by: the validation loss, or the character errors that "
      "--judge hears in the samples.");
}

void add_measuring(std::vector<Field>& fields) {
  FieldGroup run(fields, "Run");
  run.add(
      MYXTTS_FIELD(run.eval_steps), "N", or_auto(integer_between(1, 1'000'000'000)),
      "Measure on the validation clips every so many steps; auto once an epoch, or twenty times "
      "in a stage whose --stage-budget counts steps.");
  run.add(MYXTTS_FIELD(run.early_stopping), "N", or_none(integer_between(1, 1'000'000)),
          "End after so many measurements without a better validation loss.");
  run.add(MYXTTS_FIELD(run.log_steps), "N", integer_between(1, 1'000'000),
          "Steps between two lines of metrics.");
  run.add_switch(MYXTTS_FIELD(run.histograms),
                 "Write histograms of weights for TensorBoard at each measurement.");
  run.add(
      MYXTTS_FIELD(run.samples), "N", integer_between(0, 1000),
      "Clips that each measurement, and the end of the run, makes sound and pictures of; 0: none.");
  run.add(MYXTTS_FIELD(run.test_sentences), "FILE", or_none(path_of("a text file")),
          "Sentences, one a line, that each measurement speaks into the run directory, with the "
          "voice of a validation clip.");
  run.add(MYXTTS_FIELD(run.judge), "whisper=DIR", or_none(recogniser()),
          "A Whisper model that listens to the samples of each measurement: character errors and "
          "likeness of the voice become curves.");
  run.add(MYXTTS_FIELD(run.trace), "FILE", or_none(path_of("a file")),
          "Write a timeline of every thread and stream, for Perfetto or chrome://tracing.");
}

void add_watching(std::vector<Field>& fields) {
  FieldGroup run(fields, "Run");
  run.add_switch(MYXTTS_FIELD(run.watch),
                 "Show the run on a page of this machine while it trains, as myxtts watch does.");
  run.add(MYXTTS_FIELD(run.watch_port), "N", or_auto(integer_between(0, 65'535)),
          "The port of that page, 0 for any that is free; auto is 8021, or another where that is "
          "taken.");
  run.add(MYXTTS_FIELD(run.mlflow), "URL", or_none(web_address()),
          "Send the numbers of metrics.jsonl to the MLflow server at this address, too.");
}

void add_run_fields(std::vector<Field>& fields) {
  add_directory(fields);
  add_saving(fields);
  add_measuring(fields);
  add_watching(fields);
}

std::vector<Field> make_fields() {
  std::vector<Field> fields;
  add_data_fields(fields);
  add_devices_fields(fields);
  add_train_fields(fields);
  add_parallel_fields(fields);
  add_run_fields(fields);
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
