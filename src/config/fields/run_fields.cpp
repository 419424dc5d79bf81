// SPDX-License-Identifier: Apache-2.0
#include "config/field_binding.h"
#include "config/fields/sections.h"

namespace myxtts {
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
