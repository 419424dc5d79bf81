// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "config/field_binding.h"
#include "config/stage_settings.h"

namespace myxtts {
namespace {

std::vector<std::pair<std::string, Stage>> named_stages() {
  std::vector<std::pair<std::string, Stage>> named;
  for (const Stage stage : kStages) named.emplace_back(name_of(stage), stage);
  return named;
}

void add_model(std::vector<Field>& fields) {
  fields.push_back(bind({.key = "train.stage",
                         .flag = "--stage",
                         .placeholder = "STAGE",
                         .group = "Model",
                         .sentence = "The part of the network to train."},
                        MYXTTS_MEMBER(train.stage), one_of<Stage>(named_stages())));
  fields.push_back(
      bind({.key = "train.stages",
            .flag = "--stages",
            .placeholder = "LIST",
            .group = "Model",
            .sentence = "Parts to train one after another, each from the result of the one before; "
                        "none trains --stage alone."},
           MYXTTS_MEMBER(train.stages), stage_list(), "none"));
  fields.push_back(
      bind({.key = "train.stage_budget",
            .flag = "--stage-budget",
            .placeholder = "LIST",
            .group = "Model",
            .sentence = "How long each stage is trained: steps, or minutes over all resumes. With "
                        "minutes a cosine follows the clock."},
           MYXTTS_MEMBER(train.stage_budget), stage_budgets(), "none"));
  fields.push_back(
      bind({.key = "train.hand_on",
            .flag = "--hand-on",
            .placeholder = "WHICH",
            .group = "Model",
            .sentence = "The checkpoint of a stage that the next one of --stages starts from: its "
                        "latest, or the one of those it kept whose validation loss is the best."},
           MYXTTS_MEMBER(train.hand_on),
           one_of<HandOn>({{"latest", HandOn::Latest}, {"best", HandOn::Best}})));
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
  fields.push_back(
      bind({.key = "train.vocab",
            .flag = "--vocab",
            .placeholder = "FILE",
            .group = "Model",
            .sentence =
                "The vocabulary of a model that starts from random weights; none learns one from "
                "the training texts."},
           MYXTTS_MEMBER(train.vocab), path_of("a vocab.json"), "none"));
  fields.push_back(
      bind({.key = "train.vocab_pieces",
            .flag = "--vocab-pieces",
            .placeholder = "N",
            .group = "Model",
            .sentence =
                "Pieces of several letters that a vocabulary which is learnt may have; auto takes "
                "those that stand in the training texts 2,000 times or more, at most 500.",
            .commands = {"config", "train", "prepare"}},
           MYXTTS_MEMBER(train.vocab_pieces), integer_between(0, 100'000), "auto"));
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
           MYXTTS_MEMBER(train.batch_tokens), integer_between(64, 10'000'000), "none"));
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
  fields.push_back(
      bind({.key = "train.max_minutes",
            .flag = "--max-minutes",
            .placeholder = "MINUTES",
            .group = "Training",
            .sentence = "End this command after so many minutes with a checkpoint, in good order; "
                        "--resume goes on, with new minutes."},
           MYXTTS_MEMBER(train.max_minutes), number_between(0.001, 100'000), "none"));
  fields.push_back(bind({.key = "train.seed",
                         .flag = "--seed",
                         .placeholder = "N",
                         .group = "Training",
                         .sentence = "Equal seeds give equal weights, order of clips and dropout."},
                        MYXTTS_MEMBER(train.seed),
                        integer_between(0, std::numeric_limits<std::int64_t>::max())));
}

void add_optimiser(std::vector<Field>& fields) {
  fields.push_back(
      bind({.key = "train.lr",
            .flag = "--lr",
            .placeholder = "RATE",
            .group = "Training",
            .sentence = "The learning rate, before the schedule; auto is 5e-06 for gpt, "
                        "0.0003 for dvae, 0.0002 for decoder, 0.001 for speaker."},
           MYXTTS_MEMBER(train.lr), number_between(1e-12, 1.0), "auto"));
  fields.push_back(bind(
      {.key = "train.schedule",
       .flag = "--schedule",
       .placeholder = "KIND",
       .group = "Training",
       .sentence = "How the learning rate changes: as in the Python peer's recipe, which halves "
                   "it after 900,000 epochs, 2,700,000 and 5,400,000 (steps), not at all, along "
                   "a cosine that ends at the last step, or by a thousandth each epoch "
                   "(exponential); auto is steps for gpt, exponential for decoder, else "
                   "constant."},
      MYXTTS_MEMBER(train.schedule),
      one_of<ScheduleKind>({{"steps", ScheduleKind::Steps},
                            {"constant", ScheduleKind::Constant},
                            {"cosine", ScheduleKind::Cosine},
                            {"exponential", ScheduleKind::Exponential}}),
      "auto"));
  fields.push_back(bind({.key = "train.warmup_steps",
                         .flag = "--warmup-steps",
                         .placeholder = "N",
                         .group = "Training",
                         .sentence = "Steps in which the learning rate rises from 0."},
                        MYXTTS_MEMBER(train.warmup_steps), integer_between(0, 10'000'000)));
  fields.push_back(bind({.key = "train.weight_decay",
                         .flag = "--weight-decay",
                         .placeholder = "RATE",
                         .group = "Training",
                         .sentence = "AdamW's pull of weights towards 0; auto is 0 for decoder, "
                                     "0.01 for the others."},
                        MYXTTS_MEMBER(train.weight_decay), number_between(0.0, 1.0), "auto"));
  fields.push_back(bind(
      {.key = "train.grad_clip",
       .flag = "--grad-clip",
       .placeholder = "NORM",
       .group = "Training",
       .sentence = "Gradients longer than this are shortened to it; none leaves them as they are, "
                   "as the Python peer's recipe does."},
      MYXTTS_MEMBER(train.grad_clip), number_between(1e-6, 1e6), "none"));
  fields.push_back(bind({.key = "train.dropout",
                         .flag = "--dropout",
                         .placeholder = "SHARE",
                         .group = "Training",
                         .sentence = "The share of activations that are dropped while training."},
                        MYXTTS_MEMBER(train.dropout), number_between(0.0, 0.9)));
  fields.push_back(bind(
      {.key = "train.freeze",
       .flag = "--freeze",
       .placeholder = "PATTERNS",
       .group = "Training",
       .sentence = "Parameters that stay as they are, by their names in the checkpoint, with * for "
                   "any characters and commas between: gpt.text_embedding.*,gpt.conditioning_*."},
      MYXTTS_MEMBER(train.freeze), name_patterns(), "none"));
}

// What makes another task of the same clips.
void add_visits(std::vector<Field>& fields) {
  fields.push_back(bind(
      {.key = "train.prompt_from",
       .flag = "--prompt-from",
       .placeholder = "SOURCE",
       .group = "Training",
       .sentence = "What a clip's prompt is cut from: the clip itself, or another clip of its "
                   "speaker in the batch (speaker), so that every code counts in the loss and none "
                   "can be read off the prompt."},
      MYXTTS_MEMBER(train.prompt_from),
      one_of<PromptFrom>({{"clip", PromptFrom::Clip}, {"speaker", PromptFrom::Speaker}})));
  fields.push_back(bind(
      {.key = "train.prompt_mask",
       .flag = "--prompt-mask",
       .placeholder = "KIND",
       .group = "Training",
       .sentence = "Whether codes that the prompt was cut from count in the loss: each clip's own "
                   "do not (clip), all count (none), or the Python peer's slip, for comparing with "
                   "it (peer). Without a meaning for --prompt-from speaker, where all count."},
      MYXTTS_MEMBER(train.prompt_mask),
      one_of<PromptMask>(
          {{"clip", PromptMask::Clip}, {"none", PromptMask::None}, {"peer", PromptMask::Peer}})));
  fields.push_back(
      bind({.key = "train.shift_clips",
            .flag = "--shift-clips",
            .negative_flag = "--no-shift-clips",
            .group = "Training",
            .sentence = "Each visit of a clip begins up to 46 ms later, by chance: the same sound "
                        "in other codes, against learning a small corpus by heart. Not with "
                        "--cache-dataset, which keeps codes."},
           MYXTTS_MEMBER(train.shift_clips), true_or_false()));
  fields.push_back(
      bind({.key = "train.code_noise",
            .flag = "--code-noise",
            .placeholder = "SHARE",
            .group = "Training",
            .sentence = "The share of codes that the stage gpt reads wrongly, by chance, while it "
                        "still has to say the right ones: with less to go by in what was said "
                        "before, it listens to the text earlier."},
           MYXTTS_MEMBER(train.code_noise), number_between(0.0, 0.9)));
  fields.push_back(bind(
      {.key = "train.guide",
       .flag = "--guide",
       .placeholder = "WEIGHT",
       .group = "Training",
       .sentence = "How much the stage gpt is told, beside its losses, that speech goes through "
                   "its text from the beginning to the end; for models from nothing with "
                   "little speech, 0 leaves it to find that out."},
      MYXTTS_MEMBER(train.guide), number_between(0.0, 100.0)));
}

void add_windows(std::vector<Field>& fields) {
  fields.push_back(bind(
      {.key = "train.windows_per_clip",
       .flag = "--windows-per-clip",
       .placeholder = "N",
       .group = "Training",
       .sentence = "Pieces that the stages dvae, decoder and speaker cut out of each clip of a "
                   "batch; auto is 4 for dvae and decoder, 2 for speaker."},
      MYXTTS_MEMBER(train.windows_per_clip), integer_between(1, 64), "auto"));
  fields.push_back(
      bind({.key = "train.window",
            .flag = "--window",
            .placeholder = "SECONDS",
            .group = "Training",
            .sentence = "How long such a piece is; auto is 1.5 for dvae, 0.34 for decoder (32 "
                        "frames), 2 for speaker."},
           MYXTTS_MEMBER(train.window), number_between(0.1, 10.0), "auto"));
  fields.push_back(bind(
      {.key = "train.mel_only_steps",
       .flag = "--mel-only-steps",
       .placeholder = "N",
       .group = "Training",
       .sentence = "Steps of the stage decoder before its discriminators take part: several times "
                   "as fast, they bring the first words, which stay hollow without what follows."},
      MYXTTS_MEMBER(train.mel_only_steps), integer_between(0, 1'000'000'000)));
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

void add_memory(std::vector<Field>& fields) {
  fields.push_back(bind(
      {.key = "train.recompute",
       .flag = "--recompute",
       .placeholder = "CHOICE",
       .group = "Memory",
       .sentence = "Compute each layer's activations a second time in place of keeping them; auto "
                   "does so when the batch would not fit otherwise."},
      MYXTTS_MEMBER(train.recompute), on_or_off(), "auto"));
  fields.push_back(
      bind({.key = "train.moments",
            .flag = "--moments",
            .placeholder = "KIND",
            .group = "Memory",
            .sentence = "How AdamW's two averages are kept: in fp32, bf16, or 8 bits in blocks; "
                        "auto takes the finest that fits."},
           MYXTTS_MEMBER(train.moments),
           one_of<Moments>(
               {{"fp32", Moments::Fp32}, {"bf16", Moments::Bf16}, {"8bit", Moments::EightBit}}),
           "auto"));
  fields.push_back(
      bind({.key = "train.release_gradients",
            .flag = "--release-gradients",
            .placeholder = "CHOICE",
            .group = "Memory",
            .sentence =
                "Update each layer as soon as its gradient is there and let go of it; not with "
                "--grad-clip or --grad-accum. Auto does so when nothing else makes a batch fit."},
           MYXTTS_MEMBER(train.release_gradients), on_or_off(), "auto"));
}

void add_guards(std::vector<Field>& fields) {
  fields.push_back(
      bind({.key = "train.max_bad_steps",
            .flag = "--max-bad-steps",
            .placeholder = "N",
            .group = "Training",
            .sentence = "Steps in a row whose loss or gradient is not a number, before the run "
                        "stops; each is left out and its clips are named."},
           MYXTTS_MEMBER(train.max_bad_steps), integer_between(1, 1'000'000)));
  fields.push_back(
      bind({.key = "train.spike_factor",
            .flag = "--spike-factor",
            .placeholder = "FACTOR",
            .group = "Training",
            .sentence = "Warn of a loss so many times its running mean, and name the clips."},
           MYXTTS_MEMBER(train.spike_factor), number_between(1.1, 1000.0)));
}

}  // namespace

void add_train_fields(std::vector<Field>& fields) {
  add_model(fields);
  add_training(fields);
  add_optimiser(fields);
  add_visits(fields);
  add_windows(fields);
  add_arithmetic(fields);
  add_memory(fields);
  add_guards(fields);
}

}  // namespace myxtts
