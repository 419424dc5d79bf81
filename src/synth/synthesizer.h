// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/model.h"
#include "config/model_json.h"
#include "model/named_tensors.h"
#include "model/reference_voice.h"
#include "model/vocoder.h"
#include "synth/decode_engine.h"
#include "synth/sampling.h"
#include "synth/sound_seams.h"
#include "synth/text_pieces.h"
#include "synth/voice.h"
#include "synth/windowed_vocoder.h"
#include "text/vocabulary.h"

namespace myxtts {

// A model folder opened for speaking. The tensors are fp32 and share the mapped file.
struct SpeakingModel {
  std::filesystem::path folder;
  ModelConfig config;
  ReferenceConfig reference;
  SamplingSettings sampling;
  Vocabulary vocabulary;
  NamedTensors tensors;  // names of checkpoint_specs()
};

// Throws DataError that says which file is missing or wrong, or which stage of the model has not
// been trained and how that is done. The DVAE is not needed for speaking.
SpeakingModel open_speaking_model(const std::filesystem::path& folder);

// Reads the weights from the disk, and shows how far it is; without it they are read when they are
// first used. Throws DataError where one is not a finite number.
void read_ahead(const SpeakingModel& model);

// Clips of a voice, treated as read_reference() says, with the loudness that the model asks for.
std::vector<at::Tensor> read_references(const SpeakingModel& model,
                                        const std::vector<std::filesystem::path>& references,
                                        const ReferenceLengths& lengths,
                                        std::optional<double> trim_db = {});

struct SpeakSettings {
  SamplingSettings sampling;
  double speed = 1.0;
};

// A piece of text as it was spoken.
struct SpokenPiece {
  std::vector<std::int64_t> codes;  // the stop code last, if it came
  at::Tensor latents;               // [.., D] after the change of speed, on the CPU
  at::Tensor samples;               // [S] fp32 on the CPU
  bool stopped = false;             // by itself, not by the limit on codes
};

// The sound of one piece as its codes come: the same as that of the whole piece, up to the fades
// between what was handed out. The vocoder outlives it.
class PieceStream {
 public:
  PieceStream(const WindowedVocoder& vocoder, at::Tensor speaker, double speed);

  // The samples that came with the row's newest codes; there may be none yet.
  std::vector<float> add(const RowSoFar& row);

 private:
  const WindowedVocoder& vocoder_;
  at::Tensor speaker_;  // [speaker_dim] on the device
  double speed_;
  StreamJoiner joiner_;
};

// Speaks texts with one model on one device.
//
// Memory for the cache is taken once and stays. Throws what the engine throws. One thread at a
// time; the model outlives it.
class Synthesizer {
 public:
  // Hears of each few new codes; false ends the work early, with what there is.
  using OnCodes = std::function<bool(std::int64_t count)>;
  // Takes a piece as soon as it is spoken, with its place among those asked for.
  using OnPiece = std::function<void(std::size_t place, SpokenPiece spoken)>;
  // Takes the next samples; false ends the stream.
  using OnSound = std::function<bool(std::span<const float> samples, bool is_last)>;

  // Speaks up to `rows` pieces at a time.
  Synthesizer(const SpeakingModel& model, c10::Device device, std::int64_t rows);

  // Of clips as read_references() gives them.
  Voice voice_of(const std::vector<at::Tensor>& clips, const ReferenceLengths& lengths) const;

  // Each piece in its voice and at its rate; pauses are the caller's. At most rows() pieces, or any
  // number with beams, which are searched one piece after another. Pieces that are spoken together
  // come in the order in which they end. When on_codes ends the work, the others come as far as
  // they were spoken.
  void speak(std::span<const TextPiece> pieces, const Voices& voices, const SpeakSettings& settings,
             const OnCodes& on_codes, const OnPiece& on_piece);

  // The same sound up to the fades, handed out after each `chunk_codes` codes. Beams are not
  // possible here.
  SpokenPiece stream(const TextPiece& piece, const Voices& voices, const SpeakSettings& settings,
                     std::int64_t chunk_codes, const OnSound& on_sound);

  // For who speaks many texts that come and go: places of the engine, and the sound of a piece
  // whose codes are made there.
  DecodeEngine& engine() { return *engine_; }
  PieceStream sound_of(const TextPiece& piece, const Voices& voices, double speed) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t sample_rate() const;

 private:
  SpokenPiece finish(GeneratedRow row, const TextPiece& piece, const Voices& voices,
                     double speed) const;

  const SpeakingModel& model_;
  c10::Device device_;
  std::int64_t rows_;
  NamedTensors tensors_;  // the model's, on the device
  Gpt gpt_;               // for reference clips
  SpeakerEncoder speaker_encoder_;
  ReferenceVoice reference_;
  Decoder decoder_;
  WindowedVocoder vocoder_;
  std::unique_ptr<DecodeEngine> engine_;
};

}  // namespace myxtts
