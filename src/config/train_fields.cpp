// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "config/field_binding.h"

namespace myxtts {
namespace {

std::vector<std::pair<std::string, ModelPart>> named_parts() {
  std::vector<std::pair<std::string, ModelPart>> named;
  for (const ModelPart stage : kModelParts) named.emplace_back(name_of(stage), stage);
  return named;
}

void add_model(std::vector<Field>& fields) {
  FieldGroup model(fields, "Model");
  model.add(MYXTTS_FIELD(train.stage), "STAGE", one_of<ModelPart>(named_parts()),
            "The part of the network to train.");
  model.add(MYXTTS_FIELD(train.stages), "LIST", or_none(stage_list()),
            "Parts to train one after another, each from the result of the one before; none trains "
            "--stage alone.");
  model.add(MYXTTS_FIELD(train.stage_budget), "LIST", or_none(stage_budgets()),
            "How long each stage is trained: steps, or minutes over all resumes. 6000@1h are 6000 "
            "steps for one hour of speech, and as many times more for other corpora as the square "
            "root of their hours. With minutes a cosine follows the clock.");
  model.add(MYXTTS_FIELD(train.hand_on), "WHICH",
            one_of<HandOn>({{"latest", HandOn::Latest}, {"best", HandOn::Best}}),
            "The checkpoint of a stage that the next one of --stages starts from: its latest, or "
            "the one of those it kept whose validation loss is the best.");
  model.add(MYXTTS_FIELD(train.model_size), "SIZE",
            word_of({"tiny", "small", "normal", "big", "xtts-v2"}),
            "The size of the network; xtts-v2 is that of the public model.");
  model.add(
      MYXTTS_FIELD(train.init), "DIR", or_none(path_of("a model directory")),
      "The model to start from; none starts from random weights. A recipe says required where "
      "it needs one.");
  model.add(MYXTTS_FIELD(train.vocab), "FILE", or_none(path_of("a vocab.json")),
            "The vocabulary of a model that starts from random weights; none learns one from the "
            "training texts.");
  model
      .add(MYXTTS_FIELD(train.vocab_pieces), "N", or_auto(integer_between(0, 100'000)),
           "Pieces of several letters that a vocabulary which is learnt may have; auto takes those "
           "that stand in the training texts 2,000 times or more, at most 500.")
      .commands = {"config", "train", "prepare"};
}

void add_training(std::vector<Field>& fields) {
  FieldGroup training(fields, "Training");
  training
      .add(MYXTTS_FIELD(train.batch_size), "N", or_auto(integer_between(1, 4096)),
           "Clips in a batch; auto takes what the device's memory allows.")
      .commands = {"config", "train", "prepare"};
  training
      .add(MYXTTS_FIELD(train.batch_tokens), "N", or_none(integer_between(64, 10'000'000)),
           "Tokens in a batch, text and codes together, in place of a clip count.")
      .commands = {"config", "train", "prepare"};
  training.add(MYXTTS_FIELD(train.grad_accum), "N", integer_between(1, 4096),
               "Batches whose gradients are summed before the weights change.");
  training.add(MYXTTS_FIELD(train.epochs), "N", integer_between(1, 1'000'000),
               "How often the whole corpus is gone through.");
  training.add(MYXTTS_FIELD(train.max_steps), "N", or_none(integer_between(1, 1'000'000'000)),
               "Stop after so many steps, even in the middle of an epoch.");
  training.add(MYXTTS_FIELD(train.max_minutes), "MINUTES", or_none(number_between(0.001, 100'000)),
               "End this command after so many minutes with a checkpoint, in good order; --resume "
               "goes on, with new minutes.");
  training.add(MYXTTS_FIELD(train.seed), "N",
               integer_between(0, std::numeric_limits<std::int64_t>::max()),
               "Equal seeds give equal weights, order of clips and dropout.");
}

void add_optimiser(std::vector<Field>& fields) {
  FieldGroup training(fields, "Training");
  training.add(MYXTTS_FIELD(train.lr), "RATE", or_auto(number_between(1e-12, 1.0)),
               "The learning rate, before the schedule; auto is 5e-06 for a gpt that is trained "
               "already and 0.0002 for one from nothing, 0.0003 for dvae, 0.0002 for decoder, "
               "0.001 for speaker. A resumed run keeps its own.");
  training.add(MYXTTS_FIELD(train.schedule), "KIND",
               or_auto(one_of<ScheduleKind>({{"steps", ScheduleKind::Steps},
                                             {"constant", ScheduleKind::Constant},
                                             {"cosine", ScheduleKind::Cosine},
                                             {"exponential", ScheduleKind::Exponential}})),
               "How the learning rate changes: as in coqui-tts' recipe, which halves it "
               "after 900,000 epochs, 2,700,000 and 5,400,000 (steps), not at all, along a cosine "
               "that ends at the last step, or by a thousandth each epoch (exponential); auto is "
               "steps for gpt, exponential for decoder, else constant.");
  training.add(MYXTTS_FIELD(train.warmup_steps), "N", or_auto(integer_between(0, 10'000'000)),
               "Steps in which the learning rate rises from 0; auto a tenth of the run's, 200 at "
               "most.");
  training.add(MYXTTS_FIELD(train.weight_decay), "RATE", or_auto(number_between(0.0, 1.0)),
               "AdamW's pull of weights towards 0; auto is 0 for decoder, 0.01 for the others.");
  training.add(MYXTTS_FIELD(train.grad_clip), "NORM", or_none(number_between(1e-6, 1e6)),
               "Clip the norm of the gradients to this; none does not clip, as coqui-tts' recipe.");
  training.add(MYXTTS_FIELD(train.dropout), "SHARE", number_between(0.0, 0.9),
               "The share of activations that are dropped while training.");
  training.add(MYXTTS_FIELD(train.freeze), "PATTERNS", or_none(name_patterns()),
               "Parameters that stay as they are, by their names in the checkpoint, with * for any "
               "characters and commas between: gpt.text_embedding.*,gpt.conditioning_*.");
}

// What makes another task of the same clips.
void add_visits(std::vector<Field>& fields) {
  FieldGroup training(fields, "Training");
  training.add(MYXTTS_FIELD(train.prompt_from), "SOURCE",
               one_of<PromptFrom>({{"clip", PromptFrom::Clip}, {"speaker", PromptFrom::Speaker}}),
               "What a clip's prompt is cut from: the clip itself, or another clip of its speaker "
               "in the batch (speaker), so that every code counts in the loss and none can be read "
               "off the prompt.");
  training.add(
      MYXTTS_FIELD(train.prompt_mask), "KIND",
      one_of<PromptMask>(
          {{"clip", PromptMask::Clip}, {"none", PromptMask::None}, {"peer", PromptMask::Peer}}),
      "Whether codes that the prompt was cut from count in the loss: each clip's own do not "
      "(clip), all count (none), or coqui-tts' slip, for comparing with it (peer). Without "
      "a meaning for --prompt-from speaker, where all count.");
  training.add_switch(
      MYXTTS_FIELD(train.shift_clips),
      "Each visit of a clip begins up to 46 ms later, by chance: the same sound in other codes, "
      "against learning a small corpus by heart. Not with --cache-dataset, which keeps codes.");
  training.add(MYXTTS_FIELD(train.code_noise), "SHARE", number_between(0.0, 0.9),
               "The share of codes that the part gpt reads wrongly, by chance, while it still has "
               "to say the right ones: with less to go by in what was said before, it listens to "
               "the text earlier.");
  training.add(MYXTTS_FIELD(train.guide), "WEIGHT", number_between(0.0, 100.0),
               "How much the part gpt is told, beside its losses, that speech goes through its "
               "text from the beginning to the end; for models from nothing with little speech, 0 "
               "leaves it to find that out.");
}

void add_windows(std::vector<Field>& fields) {
  FieldGroup training(fields, "Training");
  training.add(MYXTTS_FIELD(train.windows_per_clip), "N", or_auto(integer_between(1, 64)),
               "Pieces that the parts dvae, decoder and speaker cut out of each clip of a batch; "
               "auto is 4 for dvae and decoder, 2 for speaker.");
  training.add(MYXTTS_FIELD(train.window), "SECONDS", or_auto(number_between(0.1, 10.0)),
               "How long such a piece is; auto is 1.5 for dvae, 0.34 for decoder (32 frames), 2 "
               "for speaker.");
  training.add(MYXTTS_FIELD(train.mel_only_steps), "N", integer_between(0, 1'000'000'000),
               "Steps of the part decoder before its discriminators take part: several times as "
               "fast, they bring the first words, which stay hollow without what follows.");
}

void add_arithmetic(std::vector<Field>& fields) {
  FieldGroup training(fields, "Training");
  training.add(MYXTTS_FIELD(train.precision), "KIND",
               one_of<Precision>({{"auto", Precision::Auto},
                                  {"fp32", Precision::Fp32},
                                  {"tf32", Precision::Tf32},
                                  {"bf16", Precision::Bf16},
                                  {"fp16", Precision::Fp16}}),
               "The arithmetic; auto takes bf16 where the GPU has it, fp32 elsewhere.");
  training.add_switch(MYXTTS_FIELD(train.enable_static_shapes),
                      "On a GPU, pad batches to a few sizes and replay each as a recorded graph.");
  training.add_switch(
      MYXTTS_FIELD(train.deterministic),
      "Use only operations that give equal results each time, at some cost in speed.");
}

void add_memory(std::vector<Field>& fields) {
  FieldGroup memory(fields, "Memory");
  memory.add(MYXTTS_FIELD(train.recompute), "CHOICE", or_auto(on_or_off()),
             "Compute each layer's activations a second time in place of keeping them; auto does "
             "so when the batch would not fit otherwise.");
  memory.add(MYXTTS_FIELD(train.moments), "KIND",
             or_auto(one_of<Moments>(
                 {{"fp32", Moments::Fp32}, {"bf16", Moments::Bf16}, {"8bit", Moments::EightBit}})),
             "How AdamW's two averages are kept: in fp32, bf16, or 8 bits in blocks; auto takes "
             "the finest that fits.");
  memory.add(MYXTTS_FIELD(train.release_gradients), "CHOICE", or_auto(on_or_off()),
             "Update each layer as soon as its gradient is there and let go of it; not with "
             "--grad-clip or --grad-accum. Auto does so when nothing else makes a batch fit.");
}

void add_guards(std::vector<Field>& fields) {
  FieldGroup training(fields, "Training");
  training.add(MYXTTS_FIELD(train.max_bad_steps), "N", integer_between(1, 1'000'000),
               "Steps in a row whose loss or gradient is not a number, before the run stops; each "
               "is left out and its clips are named.");
  training.add(MYXTTS_FIELD(train.spike_factor), "FACTOR", number_between(1.1, 1000.0),
               "Warn of a loss so many times its running mean, and name the clips.");
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
