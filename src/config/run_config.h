// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_part.h"

namespace myxtts {

// How a corpus is laid out on disk.
enum class CorpusLayout {
  LjSpeech,     // metadata.csv: id|text or id|text|normalised text, and wavs/
  Original,     // metadata_train.csv, metadata_eval.csv and wavs/
  Vctk,         // wav48_silence_trimmed/ or wav48/, and txt/
  CommonVoice,  // train.tsv, dev.tsv, ..., and clips/
  LibriTts,     // a tree of x.wav and x.normalized.txt
  CoquiCsv,     // audio_file|text|speaker_name, with that header
  Plain,        // path|text[|speaker[|language]]
  NemoJsonl,    // {"audio_filepath": ..., "text": ..., "duration": ...} a line
  TextFiles,    // x.wav beside x.txt
};

// One corpus of a run.
struct CorpusSource {
  std::filesystem::path path = {};           // a folder, or a manifest file
  std::optional<CorpusLayout> layout = {};   // nothing: found by looking
  std::optional<std::string> language = {};  // nothing: data.language
  double weight = 1.0;                       // how often an epoch visits its clips, on average

  friend bool operator==(const CorpusSource&, const CorpusSource&) = default;
};

// How often an epoch visits clips, by the name of their language or speaker.
using Weights = std::map<std::string, double, std::less<>>;

// Samples at 22,050 Hz of the longest clip that is trained on unless data.max_seconds says
// otherwise, the same as coqui-tts' recipe: 11.6 s and a little.
inline constexpr std::int64_t kLongestClip = 255'995;

// What is trained on, and how clips travel from disk to the model device. Limits and sentences of
// the members stand in config/fields.cpp; an empty optional means that the program decides or that
// the thing is not asked for.
struct DataConfig {
  std::optional<std::int64_t> data_gpu = {};   // with a model_gpu or with --gpus
  std::optional<std::int64_t> model_gpu = {};  // with a data_gpu
  std::optional<std::int64_t> num_workers = {};
  std::optional<std::int64_t> pipeline_buffer_size = {};  // batches
  std::optional<std::int64_t> prefetch_buffer_size = {};  // slots
  double model_start_delay = 2.0;                         // seconds
  std::vector<CorpusSource> train_data = {};
  std::vector<CorpusSource> val_data = {};  // none: val_fraction of the clips of train_data
  double val_fraction = 0.01;
  std::string language = "en";
  std::optional<Weights> language_weights = {};
  std::optional<Weights> speaker_weights = {};
  std::optional<CorpusLayout> format = {};  // of corpora that name no layout; nothing: by looking
  bool cache_dataset = false;
  std::optional<std::filesystem::path> cache_dir = {};

  // Which clips are left out, and how many may be.
  double min_seconds = 0.5;
  std::optional<double> max_seconds = {};  // nothing: kLongestClip
  std::int64_t max_text_tokens = 200;      // with the language's tag
  double min_chars_per_second = 0.5;
  double max_chars_per_second = 30.0;
  double max_skipped = 0.05;  // a share of all clips
  bool strict = false;

  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

enum class DeviceKind { Auto, Cpu, Cuda };

// How the data role and the model role share the machine. Auto measures and takes the fastest.
enum class Mode { Auto, Dual, Single, Split, Cpu };

enum class TransferPath { Auto, P2p, Host };

// The largest number of a GPU.
inline constexpr std::int64_t kMostGpu = 63;

// One physical GPU used as two: the data role gets `multiprocessors` of it.
struct SplitGpu {
  std::int64_t gpu = 0;
  std::optional<std::int64_t> multiprocessors = {};

  friend bool operator==(const SplitGpu&, const SplitGpu&) = default;
};

// GPUs by their numbers; none named is every one that is visible.
using GpuNumbers = std::vector<std::int64_t>;

// Which devices work, and how much of each. Numbers of GPUs are in nvidia-smi's order. The key
// parallel.gpus sets a member of this struct too.
struct DevicesConfig {
  DeviceKind device = DeviceKind::Auto;
  std::optional<GpuNumbers> gpus = {};  // of this host, a rank on each
  std::optional<Mode> mode = {};        // nothing: follows from the other device settings
  std::optional<SplitGpu> split_gpu = {};
  TransferPath transfer_path = TransferPath::Auto;
  bool enable_memory_isolation = false;
  std::optional<std::int64_t> data_gpu_memory = {};   // MB
  std::optional<std::int64_t> model_gpu_memory = {};  // MB
  std::optional<std::int64_t> data_threads = {};      // on the CPU; nothing: by the cores
  std::optional<std::int64_t> model_threads = {};     // on the CPU; nothing: by the cores

  friend bool operator==(const DevicesConfig&, const DevicesConfig&) = default;
};

// In which numbers gradients go from rank to rank.
enum class Wire { Fp32, Bf16 };

// How several ranks train one model. Ranks are processes, and how many there are is the launcher's
// to say (`myxtts launch`, torchrun, srun or mpirun), or the threads of one process that one data
// device feeds.
struct ParallelConfig {
  std::optional<std::int64_t> ranks = {};  // in this process, fed by one data device
  double rank_timeout = 600;               // seconds that ranks wait for one that does not answer
  Wire wire = Wire::Fp32;                  // a batch's gradients are summed in this
  bool shard_optimiser = false;            // each rank keeps AdamW's averages of its part alone

  friend bool operator==(const ParallelConfig&, const ParallelConfig&) = default;
};

enum class Precision { Auto, Fp32, Tf32, Bf16, Fp16 };

// Which codes of the span that a clip's prompt was cut from do not count in the loss.
enum class PromptMask {
  Clip,  // all of each clip's span
  None,
  Peer,  // a slip of coqui-tts: the last clip's span only, in mel frames of 256 samples in place of
         // codes. For comparing with it, never for training.
};

// Where the prompt of a clip comes from: the clip itself, or another one of its speaker.
enum class PromptFrom { Clip, Speaker };

// Which checkpoint of a stage the next one of `stages` starts from.
enum class HandOn { Latest, Best };

// How AdamW's two averages are kept.
enum class Moments { Fp32, Bf16, EightBit };

// What a recipe gives as train.init where it makes no sense without a model to go on from.
inline constexpr const char* kInitRequired = "required";

// How long one stage is trained: steps or minutes.
struct PartBudget {
  std::optional<std::int64_t> steps = {};
  std::optional<double> hours = {};    // of speech that the steps are for; nothing: for any
  std::optional<double> minutes = {};  // over all resumes

  friend bool operator==(const PartBudget&, const PartBudget&) = default;
};
using PartBudgets = std::map<ModelPart, PartBudget>;

// What is trained, for how long and with which arithmetic.
struct TrainConfig {
  ModelPart stage = ModelPart::Gpt;
  std::optional<std::vector<ModelPart>> stages = {};  // one after another, in place of `stage`
  std::optional<PartBudgets> stage_budget = {};
  HandOn hand_on = HandOn::Latest;
  std::string model_size = "normal";
  std::optional<std::filesystem::path> init = {};
  std::optional<std::filesystem::path> vocab = {};  // nothing: learned, where there is no init
  std::optional<std::int64_t> vocab_pieces = {};    // nothing: by the amount of text
  std::optional<std::int64_t> batch_size = {};      // clips
  std::optional<std::int64_t> batch_tokens = {};    // in place of batch_size
  std::int64_t grad_accum = 1;                      // batches in one step
  std::int64_t epochs = 100;
  std::optional<std::int64_t> max_steps = {};
  std::optional<double> max_minutes = {};  // of this command
  std::int64_t seed = 0;

  // Nothing: what suits the stage and what it starts from (learning_rate_of below).
  std::optional<double> lr = {};
  std::optional<ScheduleKind> schedule = {};
  std::optional<std::int64_t> warmup_steps = 0;  // nothing: warmup_steps_of() below
  std::optional<double> weight_decay = {};       // nothing: likewise
  std::optional<double> grad_clip = {};          // of the length of all gradients together
  double dropout = 0.1;
  std::optional<std::vector<std::string>> freeze = {};  // patterns of parameters' names
  PromptFrom prompt_from = PromptFrom::Clip;
  PromptMask prompt_mask = PromptMask::Clip;  // of prompts that are the clip's own
  bool shift_clips = false;                   // each visit of a clip begins a little later
  double code_noise = 0;  // the share of the codes read by the GPT that are others
  double guide = 0;       // what attention that follows the text counts beside the GPT's losses

  // Of stages that train on sound. Nothing: what suits the stage.
  std::optional<std::int64_t> windows_per_clip = {};
  std::optional<double> window = {};   // seconds
  std::int64_t mel_only_steps = 2000;  // of the decoder, before its discriminators take part

  Precision precision = Precision::Auto;
  bool enable_static_shapes = true;
  bool deterministic = false;

  // Nothing: by the memory model, when the batch would not fit.
  std::optional<bool> recompute = {};
  std::optional<Moments> moments = {};
  std::optional<bool> release_gradients = {};

  std::int64_t max_bad_steps = 20;
  double spike_factor = 3.0;

  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

// What trades time for memory; each decided, nothing is "auto" here.
struct MemorySavers {
  bool recompute = false;  // of each layer, in the backward pass
  Moments moments = Moments::Fp32;
  bool release_gradients = false;

  friend bool operator==(const MemorySavers&, const MemorySavers&) = default;
};

// By what the best checkpoint of a run is chosen: the validation loss, or the character errors that
// a recogniser hears in the samples.
enum class BestBy { Loss, Cer };

// Where a run keeps its files, and where it continues.
struct RunDirectoryConfig {
  std::filesystem::path checkpoint_dir = "run";  // the run directory
  // "latest", the number of a step, or the path of a checkpoint; nothing: a new run.
  std::optional<std::string> resume = {};

  std::optional<std::int64_t> save_steps = 1000;
  std::optional<double> save_minutes = 30.0;
  std::int64_t keep_last = 3;
  std::int64_t keep_best = 1;
  BestBy best_by = BestBy::Loss;

  std::optional<std::int64_t> eval_steps = {};  // nothing: eval_steps_of() below
  std::optional<std::int64_t> early_stopping = {};
  std::int64_t log_steps = 10;
  bool histograms = false;
  std::int64_t samples = 3;  // of each measurement
  std::optional<std::filesystem::path> test_sentences = {};
  std::optional<std::filesystem::path> judge = {};  // the Whisper that listens to samples
  std::optional<std::filesystem::path> trace = {};
  bool watch = false;
  std::optional<std::int64_t> watch_port = {};
  std::optional<std::string> mlflow = {};  // a URL

  friend bool operator==(const RunDirectoryConfig&, const RunDirectoryConfig&) = default;
};

// Without a rate that was chosen: that of trained weights where there is an --init, else that of
// new ones. make_effective_config() looks closer and settles it.
double learning_rate_of(const TrainConfig& config);
ScheduleKind schedule_of(const TrainConfig& config);
double weight_decay_of(const TrainConfig& config);

// Of a run of so many steps; auto is a tenth of it, and 200 at most.
std::int64_t warmup_steps_of(const TrainConfig& config, std::int64_t steps);

// Every setting of a training run, one struct for each section of the YAML file.
struct RunConfig {
  DataConfig data = {};
  DevicesConfig devices = {};
  TrainConfig train = {};
  ParallelConfig parallel = {};
  RunDirectoryConfig run = {};

  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

// By what the best checkpoint of the stage is chosen: by its loss where it makes no samples.
BestBy best_by_of(const RunConfig& config);

// With every path of a file or folder as it is from any working directory.
RunConfig with_absolute_paths(RunConfig config);

// Of a run of so many steps; nothing: at the end of each epoch. Where a stage's budget counts
// steps, epochs say nothing of its length, and auto measures twenty times.
std::optional<std::int64_t> eval_steps_of(const RunConfig& config, std::int64_t steps);

}  // namespace myxtts
