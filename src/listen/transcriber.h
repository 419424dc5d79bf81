// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "listen/whisper.h"
#include "listen/whisper_files.h"
#include "listen/word_times.h"

namespace myxtts {

struct TranscribeOptions {
  std::string language = {};  // "en"; empty: heard in each clip
  bool times = false;         // of what is said, as Whisper itself writes them
  bool words = false;         // with the times of each
  bool sounds_like = false;   // says which language is heard, though one is given
  std::int64_t batch = 8;     // clips at once
};

// A stretch of speech, in seconds from the clip's start.
struct HeardPiece {
  double begin = 0;
  double end = 0;
  std::string text = {};
};

struct Transcript {
  std::string text = {};
  std::string language = {};
  std::string sounds_like = {};           // the language that is heard, where that was asked for
  std::vector<std::int64_t> tokens = {};  // with times where they were asked for, without the end
  std::vector<HeardPiece> pieces = {};    // where times were asked for, and of long clips
  std::vector<TimedWord> words = {};      // where they were asked for, in order
  double log_probability = 0;             // mean of the tokens and the end
  double no_speech = 0;                   // probability that the clip's start is no speech
};

// A text that was given, laid along its sound.
struct GivenText {
  // Empty where the sound is longer than a window of 30 s, or the text longer than the model reads.
  std::vector<TimedWord> words = {};
  // Mean of the tokens and the end, of all that the model might say; -infinity without words. Two
  // texts of one sound may be compared by it.
  double log_probability = 0;
};

// The heads by which words are found in the sound: those that the files name; else all of the upper
// half of the decoder's layers.
std::vector<WhisperHead> heads_to_follow(const WhisperFiles& files);

// Writes down what is said in clips, greedily and by the rules of OpenAI's program: signs that are
// not spoken are never written, times come in pairs and do not go back. A clip of more than 30 s
// is heard window by window, each from where the last whole piece of the one before ended, without
// knowledge of earlier text. The same clips give the same text; any thread.
class Transcriber {
 public:
  using Wanted = std::function<bool()>;

  Transcriber(const WhisperFiles& files, c10::Device device, at::ScalarType type = at::kFloat);

  // Clips [S] fp32 at kWhisperRate, on the CPU. Calls `heard` for each clip as it is done. Once
  // `wanted` says no it ends before the next layer or token, and the rest is empty. Throws
  // ConfigError for a language that the model does not know.
  std::vector<Transcript> operator()(const std::vector<at::Tensor>& clips,
                                     const TranscribeOptions& options, const Wanted& wanted = {},
                                     const std::function<void()>& heard = {}) const;

  // Where the words of given texts are heard in clips of one window, and how likely the model finds
  // them: the decoder is led through each. Takes language and batch from the options; where no
  // language is given it is heard. One text for each clip.
  std::vector<GivenText> lay(const std::vector<at::Tensor>& clips,
                             const std::vector<std::string>& texts,
                             const TranscribeOptions& options, const Wanted& wanted = {}) const;

  // The code by which Whisper knows a language ("zh" for "zh-cn"). Throws ConfigError where the
  // model does not know it, with what it knows.
  std::string language_code(const std::string& language) const;

  const WhisperVocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Window {
    std::size_t clip = 0;
    std::int64_t begin = 0;  // samples
  };
  struct Heard {
    std::vector<std::int64_t> tokens = {};
    double log_probability = 0;  // sum
    double no_speech = 0;
    bool is_done = false;
    std::vector<TimedWord> words = {};  // seconds of the window
  };
  // Windows of which the text is known, and their encoded sounds [B, audio_context, width].
  struct Said {
    at::Tensor encoded;
    std::vector<std::string> languages = {};
    std::vector<std::vector<std::int64_t>> tokens = {};  // of text alone
    std::vector<std::int64_t> samples = {};              // of each window that are sound
  };

  std::int64_t window_samples() const;
  at::Tensor sounds_of(const std::vector<at::Tensor>& clips,
                       const std::vector<Window>& windows) const;
  std::vector<std::string> hear_languages(const at::Tensor& encoded) const;
  at::Tensor prompts(const std::vector<std::string>& languages, bool times) const;
  std::vector<Heard> decode(const at::Tensor& encoded, const at::Tensor& prompt, bool times,
                            const Wanted& wanted) const;
  void rule_out(at::Tensor& scores, bool is_first) const;
  void rule_out_times(at::Tensor scores, const std::vector<std::int64_t>& said) const;
  std::vector<Heard> hear(const std::vector<at::Tensor>& clips, const std::vector<Window>& windows,
                          bool times, const TranscribeOptions& options,
                          std::vector<Transcript>& transcripts, const Wanted& wanted) const;
  std::vector<std::int64_t> text_in(const std::vector<std::int64_t>& tokens, bool times) const;
  std::vector<GivenText> lay_rows(const Said& said) const;
  GivenText lay_row(const Said& said, std::size_t row, std::int64_t prompted,
                    const at::Tensor& states, const Whisper::Attention& attention) const;
  std::int64_t take(const Heard& heard, const Window& window, std::int64_t samples, bool times,
                    Transcript& transcript) const;
  std::int64_t add_pieces(const Heard& heard, const Window& window, std::int64_t samples,
                          Transcript& transcript) const;

  WhisperVocabulary vocabulary_;
  std::vector<WhisperHead> following_heads_;  // in order
  WhisperMel mel_;
  Whisper network_;
  at::Tensor never_;      // [tokens]: -inf where a token is never said, else 0
  at::Tensor not_first_;  // the same for the first token
};

}  // namespace myxtts
