// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "session/samples/sample_clips.h"
#include "session/samples/sample_maker.h"
#include "synth/sampling_settings.h"
#include "synth/speaking_model.h"
#include "synth/text_pieces.h"

namespace myxtts {

// A text and whose voice says it.
struct SpokenText {
  std::vector<TextPiece> pieces = {};
  std::filesystem::path reference = {};
  std::int64_t most_codes =
      0;  // a model that knows nothing yet does not stop; 0: as many as it can
};

// The sentences of a file, one a line, in the voice of one clip. Throws DataError when it cannot be
// read or is empty.
std::vector<SpokenText> sentences_of_file(const std::filesystem::path& file,
                                          const std::string& language, const SpeakingModel& model,
                                          const std::filesystem::path& reference);

// The texts of clips, each in the voice of its clip.
std::vector<SpokenText> texts_of_clips(const std::vector<SampleClip>& clips,
                                       const SpeakingModel& model);

// For the stage gpt: texts, spoken. A picture shows above what the DVAE makes of the codes that
// were chosen, below the sound that the decoder makes of them: while there is no trained decoder,
// the upper half alone tells how the GPT does.
class SpokenSamples final : public SampleMaker {
 public:
  // Of `model` everything but the tensors is used, which come with each make().
  SpokenSamples(SpeakingModel model, std::vector<SpokenText> texts);

  void make(const OpenModel& model, const Take& take, const Wanted& wanted) override;

 private:
  SpeakingModel model_;
  const std::vector<SpokenText> texts_;
};

}  // namespace myxtts
