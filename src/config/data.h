// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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
// otherwise, the same as the Python peer's recipe: 11.6 s and a little.
inline constexpr std::int64_t kLongestClip = 255'995;

// What is trained on, and how clips travel from disk to the model device. Limits and sentences of
// the members stand in config/fields.cpp; an empty optional means that the program decides or that
// the thing is not asked for.
struct DataConfig {
  std::optional<std::int64_t> data_gpu = {};   // in nvidia-smi's order
  std::optional<std::int64_t> model_gpu = {};  // in nvidia-smi's order
  std::optional<std::int64_t> num_workers = {};
  std::optional<std::int64_t> pipeline_buffer_size = 50;  // batches
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

}  // namespace myxtts
