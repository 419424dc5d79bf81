// SPDX-License-Identifier: Apache-2.0
#include "config/predecessor.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/message_text.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr double kItsHop = 256;     // samples of a frame
constexpr double kItsRate = 22050;  // samples of a second

// Its key, ours. Settings that have the same key in both are not here.
constexpr std::array kSame{
    Pair{"data.dataset_path", "data.train_data"},
    Pair{"data.metadata_train_file", "data.train_data"},
    Pair{"data.metadata_eval_file", "data.val_data"},
    Pair{"data.val_split", "data.val_fraction"},
    Pair{"data.max_audio_length", "data.max_seconds"},
    Pair{"data.min_audio_length", "data.min_seconds"},
    Pair{"data.max_mel_frames", "data.max_seconds"},
    Pair{"data.max_text_length", "data.max_text_tokens"},
    Pair{"data.batch_size", "train.batch_size"},
    Pair{"model.enable_gradient_checkpointing", "train.recompute"},
    Pair{"training.learning_rate", "train.lr"},
    Pair{"training.gradient_clip_norm", "train.grad_clip"},
    Pair{"training.gradient_accumulation_steps", "train.grad_accum"},
    Pair{"training.scheduler", "train.schedule"},
    Pair{"training.use_warmup_cosine_schedule", "train.schedule"},
    Pair{"training.max_loss_spike_threshold", "train.spike_factor"},
    Pair{"training.early_stopping_patience", "run.early_stopping"},
    Pair{"training.save_step", "run.save_steps"},
    Pair{"training.val_step", "run.eval_steps"},
    Pair{"training.log_step", "run.log_steps"},
};

constexpr std::string_view kNetwork =
    "the network is XTTS v2, which fixes its layers and its sound; train.model_size sets its size";
constexpr std::string_view kLosses = "the losses are those of XTTS v2, each with its own weight";
constexpr std::string_view kLoading =
    "there is one loader: it is native, pins what it copies, overlaps with training and keeps "
    "batches ready on the model device";
constexpr std::string_view kPacked =
    "batches are packed, not padded; see train.enable_static_shapes";
constexpr std::string_view kCache =
    "data.cache_dataset keeps features, and what is kept is always verified";
constexpr std::string_view kArithmetic =
    "train.precision decides the arithmetic, and steps are recorded as graphs by "
    "train.enable_static_shapes";
constexpr std::string_view kSound =
    "clips are trained on as they were recorded; data.min_seconds and data.max_seconds leave some "
    "out";
constexpr std::string_view kText = "the model's vocabulary decides languages, letters and tokens";
constexpr std::string_view kCorpus =
    "the layout of a corpus, its speakers and its clips are found by looking; data.format forces a "
    "layout, data.val_fraction keeps clips back";
constexpr std::string_view kVoice = "a clip's prompt carries the voice; see train.prompt_from";
constexpr std::string_view kAdam = "AdamW is the one optimiser, with the betas of each part";
constexpr std::string_view kListening =
    "metrics.jsonl, TensorBoard and samples are always written; run.samples and run.test_sentences "
    "say of what";
constexpr std::string_view kMemory =
    "the device plan decides what fits; devices.enable_memory_isolation sets caps";
constexpr std::string_view kEarlyStopping =
    "every measurement below the best one counts as better, by however little; run.early_stopping "
    "says how many may pass without";
constexpr std::string_view kLeastRate =
    "train.schedule says where the learning rate ends: cosine at 0";

// Keys that mean nothing here. A name that ends in * stands for all that begin with it.
constexpr std::array kNothing{
    Pair{"data.use_tf_native_loading", kLoading},
    Pair{"data.prefetch_to_gpu", kLoading},
    Pair{"data.enhanced_gpu_prefetch", kLoading},
    Pair{"data.optimize_cpu_gpu_overlap", kLoading},
    Pair{"data.pin_memory", kLoading},
    Pair{"data.persistent_workers", kLoading},
    Pair{"data.shuffle_buffer_multiplier", kLoading},
    Pair{"data.auto_tune_performance", kLoading},
    Pair{"data.enable_xla", kArithmetic},
    Pair{"data.enable_tensorrt", kArithmetic},
    Pair{"data.mixed_precision", kArithmetic},
    Pair{"data.preprocessing_mode", kCache},
    Pair{"data.enable_memory_mapping", kCache},
    Pair{"data.cache_verification", kCache},
    Pair{"data.auto_rebuild_*", kCache},
    Pair{"data.pad_to_fixed_length", kPacked},
    Pair{"data.pad_to_multiple", kPacked},
    Pair{"data.sample_rate", kNetwork},
    Pair{"data.n_mels", kNetwork},
    Pair{"data.n_fft", kNetwork},
    Pair{"data.hop_length", kNetwork},
    Pair{"data.win_length", kNetwork},
    Pair{"data.trim_silence", kSound},
    Pair{"data.normalize_audio", kSound},
    Pair{"data.enable_loudness_normalization", kSound},
    Pair{"data.target_loudness_lufs", kSound},
    Pair{"data.enable_vad", kSound},
    Pair{"data.enable_pitch_shift", kSound},
    Pair{"data.pitch_shift_*", kSound},
    Pair{"data.enable_noise_mixing", kSound},
    Pair{"data.noise_mixing_*", kSound},
    Pair{"data.text_cleaners", kText},
    Pair{"data.add_blank", kText},
    Pair{"data.enable_phone_normalization", kText},
    Pair{"data.use_phonemes", kText},
    Pair{"data.phoneme_language", kText},
    Pair{"data.enable_multilingual", kText},
    Pair{"data.supported_languages", kText},
    Pair{"data.language_detection_method", kText},
    Pair{"data.dataset_name", kCorpus},
    Pair{"data.auto_download_ljspeech", kCorpus},
    Pair{"data.wavs_train_dir", kCorpus},
    Pair{"data.wavs_eval_dir", kCorpus},
    Pair{"data.enable_multispeaker", kCorpus},
    Pair{"data.speaker_id_pattern", kCorpus},
    Pair{"data.max_speakers", kCorpus},
    Pair{"data.train_split", kCorpus},
    Pair{"data.train_subset_fraction", kCorpus},
    Pair{"data.eval_subset_fraction", kCorpus},
    Pair{"data.subset_seed", kCorpus},
    Pair{"data.reference_audio_length", kVoice},
    Pair{"model.languages", kText},
    Pair{"model.max_text_length", kText},
    Pair{"model.text_vocab_size", kText},
    Pair{"model.tokenizer_*", kText},
    Pair{"model.use_optimized_nllb_vocab", kText},
    Pair{"model.optimized_vocab_size", kText},
    Pair{"model.vocab_*", kText},
    Pair{"model.enable_weight_tying", kText},
    Pair{"model.shared_embedding_languages", kText},
    Pair{"model.use_voice_conditioning", kVoice},
    Pair{"model.voice_*", kVoice},
    Pair{"model.enable_voice_*", kVoice},
    Pair{"model.enable_speaker_interpolation", kVoice},
    Pair{"model.max_reference_audio_length", kVoice},
    Pair{"model.min_reference_audio_length", kVoice},
    Pair{"model.*", kNetwork},
    Pair{"training.optimizer", kAdam},
    Pair{"training.beta1", kAdam},
    Pair{"training.beta2", kAdam},
    Pair{"training.eps", kAdam},
    Pair{"training.scheduler_params", kAdam},
    Pair{"training.cosine_restarts", kAdam},
    Pair{"training.min_learning_rate", kLeastRate},
    Pair{"training.early_stopping_min_delta", kEarlyStopping},
    Pair{"training.use_wandb", kListening},
    Pair{"training.wandb_*", kListening},
    Pair{"training.spectrogram_*", kListening},
    Pair{"training.text2audio_*", kListening},
    Pair{"training.enable_text2audio_eval", kListening},
    Pair{"training.enable_automatic_evaluation", kListening},
    Pair{"training.evaluation_interval", kListening},
    Pair{"training.enable_graph_mode", kArithmetic},
    Pair{"training.enable_xla_compilation", kArithmetic},
    Pair{"training.enable_eager_debug", kArithmetic},
    Pair{"training.max_memory_fraction", kMemory},
    Pair{"training.enable_memory_cleanup", kMemory},
    Pair{"training.mel_*", kLosses},
    Pair{"training.kl_*", kLosses},
    Pair{"training.duration_*", kLosses},
    Pair{"training.attention_*", kLosses},
    Pair{"training.pitch_*", kLosses},
    Pair{"training.energy_*", kLosses},
    Pair{"training.prosody_*", kLosses},
    Pair{"training.speaking_rate_*", kLosses},
    Pair{"training.max_duration_frames", kLosses},
    Pair{"training.auxiliary_*", kLosses},
    Pair{"training.voice_*", kLosses},
    Pair{"training.speaker_*", kLosses},
    Pair{"training.spectral_*", kLosses},
    Pair{"training.adaptive_weight_*", kLosses},
    Pair{"training.use_adaptive_loss_weights", kLosses},
    Pair{"training.loss_*", kLosses},
    Pair{"training.gradient_norm_threshold", kLosses},
    Pair{"training.use_label_smoothing", kLosses},
    Pair{"training.stop_*", kLosses},
    Pair{"training.use_huber_loss", kLosses},
    Pair{"training.huber_delta", kLosses},
    Pair{"training.use_simple_loss", kLosses},
    Pair{"training.*", kUnknownKey},
};

bool fits(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// A section that was meant to be ours: training.lr is train.lr.
const Field* field_below(std::string_view key) {
  constexpr std::string_view kTraining = "training.";
  if (!key.starts_with(kTraining)) return nullptr;
  for (const std::string_view section : {"train.", "run."}) {
    const std::string ours = std::string(section) + std::string(key.substr(kTraining.size()));
    if (const Field* field = find_field(ours)) return field;
  }
  return nullptr;
}

}  // namespace

bool is_predecessor_section(std::string_view key) {
  return key == "model" || key == "training";
}

std::optional<PredecessorKey> predecessor_key(std::string_view key) {
  for (const auto& [its, ours] : kSame) {
    if (its == key) return PredecessorKey{.field = find_field(ours)};
  }
  if (const Field* field = field_below(key)) return PredecessorKey{.field = field};
  for (const auto& [pattern, reason] : kNothing) {
    if (fits(key, pattern)) return PredecessorKey{.reason = reason};
  }
  return std::nullopt;
}

std::optional<std::string> predecessor_value(std::string_view key, const std::string& value) {
  const auto frames = parse_integer(value);
  if (key == "data.max_mel_frames" && frames) {
    return fmt::format("{:.2f}", static_cast<double>(*frames) * kItsHop / kItsRate);
  }
  const std::optional<bool> is_on = parse_switch(value);
  if (key == "training.use_warmup_cosine_schedule" && is_on) {
    return *is_on ? std::optional<std::string>("cosine") : std::nullopt;
  }
  if (key == "model.enable_gradient_checkpointing" && is_on) {
    return *is_on ? std::optional<std::string>("on") : std::nullopt;
  }
  return value;
}

namespace {

// What others call a setting, without dashes in front and with - between the words; its flag here,
// or the end of its key.
constexpr std::array kOtherNames{
    Pair{"learning-rate", "lr"},
    Pair{"gradient-accumulation", "grad-accum"},
    Pair{"gradient-accumulation-steps", "grad-accum"},
    Pair{"accumulation-steps", "grad-accum"},
    Pair{"gradient-clip", "grad-clip"},
    Pair{"gradient-clip-norm", "grad-clip"},
    Pair{"clip-grad", "grad-clip"},
    Pair{"data", "train-data"},
    Pair{"data", "corpus"},
    Pair{"train-data", "corpus"},
    Pair{"train-data", "data"},
    Pair{"val-data", "data"},
    Pair{"model", "from"},
    Pair{"model", "init"},
    Pair{"model", "whisper"},
    Pair{"init", "model"},
    Pair{"cpu", "device"},
    Pair{"cuda", "device"},
    Pair{"resume-from", "resume"},
    Pair{"data-path", "train-data"},
    Pair{"dataset", "train-data"},
    Pair{"dataset-path", "train-data"},
    Pair{"corpus", "train-data"},
    Pair{"metadata-train-file", "train-data"},
    Pair{"metadata-eval-file", "val-data"},
    Pair{"eval-data", "val-data"},
    Pair{"val-split", "val-fraction"},
    Pair{"output-dir", "checkpoint-dir"},
    Pair{"output", "out"},
    Pair{"output", "checkpoint-dir"},
    Pair{"out", "checkpoint-dir"},
    Pair{"run-dir", "checkpoint-dir"},
    Pair{"speaker-audio", "reference"},
    Pair{"reference-audio", "reference"},
    Pair{"speaker-wav", "reference"},
    Pair{"speaker-id", "speaker"},
    Pair{"checkpoint", "model"},
    Pair{"resume-checkpoint", "resume"},
    Pair{"pretrained", "init"},
    Pair{"max-text-length", "max-text-tokens"},
    Pair{"max-audio-length", "max-seconds"},
    Pair{"pad-to-fixed-length", "enable-static-shapes"},
    Pair{"multi-gpu", "gpus"},
    Pair{"visible-gpus", "gpus"},
    Pair{"buffer-size", "pipeline-buffer-size"},
    Pair{"workers", "num-workers"},
    Pair{"steps", "max-steps"},
    Pair{"num-epochs", "epochs"},
    Pair{"mixed-precision", "precision"},
    Pair{"save-step", "save-steps"},
    Pair{"val-step", "eval-steps"},
    Pair{"num-batches", "num-steps"},
    Pair{"early-stopping-patience", "early-stopping"},
};

constexpr std::string_view kPresets =
    "settings are set one by one, or by a recipe (docs/guides/training.md)";
constexpr std::string_view kNoPart = "XTTS v2 has no such part";

constexpr std::array kFlagsWithoutEqual{
    Pair{"--max-mel-frames",
         "--max-seconds S leaves out longer clips, with S = frames * 256 / 22050, as in 9.29 for "
         "800 frames"},
    Pair{"--preprocessing-mode",
         "--cache-dataset keeps computed features on disk, and without it they are computed as "
         "they are needed"},
    Pair{"--optimization-level", kPresets},
    Pair{"--apply-fast-convergence", kPresets},
    Pair{"--lightweight-config", kPresets},
    Pair{"--prefetch-to-gpu", "batches always wait on the model device"},
    Pair{"--no-prefetch-to-gpu", "batches always wait on the model device"},
    Pair{"--reset-training", "a run starts anew in a new --checkpoint-dir"},
    Pair{"--download-ljspeech", "download a corpus yourself and name it with --train-data"},
    Pair{"--decoder-strategy", kNoPart},
    Pair{"--vocoder-type", "the vocoder is XTTS v2's HiFi-GAN"},
    Pair{"--enable-gst", kNoPart},
    Pair{"--disable-gst", kNoPart},
    Pair{"--gst-*", kNoPart},
    Pair{"--use-pretrained-speaker-encoder", "--init brings the speaker encoder"},
    Pair{"--disable-pretrained-speaker-encoder", "--init brings the speaker encoder"},
    Pair{"--speaker-encoder-*", "--init brings the speaker encoder"},
    Pair{"--freeze-speaker-encoder", "only --stage speaker trains the speaker encoder"},
    Pair{"--unfreeze-speaker-encoder", "--stage speaker trains the speaker encoder"},
    Pair{"--contrastive-loss-*", kNoPart},
    Pair{"--simple-loss", "the losses are those of XTTS v2"},
    Pair{"--tensorboard-log-dir", "TensorBoard events lie in the run directory"},
    Pair{"--enable-eager-debug", "there is no graph compiler to switch off"},
    Pair{"--enable-evaluation", "every validation measures and makes samples"},
    Pair{"--evaluation-interval", "--eval-steps says how often is measured"},
    Pair{"--create-optimized-model", "there is no compression of models"},
    Pair{"--compression-target", "there is no compression of models"},
};

std::string bare(std::string_view name) {
  std::string words(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::replace(words, '_', '-');
  std::ranges::transform(words, words.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return words;
}

constexpr std::size_t kShortestPiece = 3;  // of a name

// The first of the shortest that pass: --model-gpu goes before --model-gpu-memory.
template <typename Test>
std::optional<std::string> shortest_of(std::span<const std::string> known, const Test& test) {
  std::optional<std::string> shortest;
  for (const std::string& name : known) {
    if (test(bare(name)) && (!shortest || name.size() < shortest->size())) shortest = name;
  }
  return shortest;
}

}  // namespace

std::optional<std::string> meant_name(std::string_view wrong, std::span<const std::string> known) {
  const std::string asked = bare(wrong);
  for (const auto& [other, ours] : kOtherNames) {
    if (asked != other) continue;
    const auto is_it = [&](const std::string& name) { return name == ours; };
    if (const auto found = shortest_of(known, is_it)) return found;
  }
  if (asked.size() >= kShortestPiece) {
    const auto begins = [&](const std::string& name) { return name.starts_with(asked); };
    const auto ends = [&](const std::string& name) { return name.ends_with("-" + asked); };
    if (const auto found = shortest_of(known, begins)) return found;
    if (const auto found = shortest_of(known, ends)) return found;
  }
  return nearest_name(wrong, known);
}

std::string reason_without_flag(std::string_view flag) {
  for (const auto& [pattern, reason] : kFlagsWithoutEqual) {
    if (fits(flag, pattern)) return std::string(reason);
  }
  return {};
}

}  // namespace myxtts
