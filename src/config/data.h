// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

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

// What is trained on, and how clips travel from disk to the model device. Limits and sentences of
// the members stand in config/fields.cpp; an empty optional means that the program decides or that
// the thing is not asked for.
struct DataConfig {
  std::optional<std::int64_t> data_gpu = {};   // in nvidia-smi's order
  std::optional<std::int64_t> model_gpu = {};  // in nvidia-smi's order
  std::optional<std::int64_t> num_workers = {};
  std::int64_t pipeline_buffer_size = 50;                 // batches
  std::optional<std::int64_t> prefetch_buffer_size = {};  // slots
  double model_start_delay = 2.0;                         // seconds
  std::optional<std::filesystem::path> train_data = {};
  std::optional<std::filesystem::path> val_data = {};
  std::string language = "en";
  bool cache_dataset = false;

  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

}  // namespace myxtts
