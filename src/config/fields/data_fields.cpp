// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"

namespace myxtts {
namespace {

constexpr std::int64_t kLargestGpuId = 63;

void add_corpora(std::vector<Field>& fields) {
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
           MYXTTS_MEMBER(data.data_gpu), integer_between(0, kLargestGpuId), "none"));
  fields.push_back(
      bind({.key = "data.model_gpu",
            .flag = "--model-gpu",
            .placeholder = "N",
            .group = "Devices",
            .sentence = "The GPU that trains, in nvidia-smi's order; needs a data GPU too."},
           MYXTTS_MEMBER(data.model_gpu), integer_between(0, kLargestGpuId), "none"));
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

}  // namespace

void add_data_fields(std::vector<Field>& fields) {
  add_corpora(fields);
  add_limits(fields);
  add_pipeline(fields);
}

}  // namespace myxtts
