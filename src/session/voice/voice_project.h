// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/voice/voice_recipe.h"

namespace myxtts {

// What a voice is made from. Paths as they were typed.
struct VoiceOrder {
  std::filesystem::path folder = {};
  std::vector<std::filesystem::path> recordings = {};
  std::filesystem::path init = {};  // a model folder
  std::string language = {};
  std::filesystem::path whisper = {};
  std::filesystem::path text = {};
  std::vector<std::filesystem::path> subtitles = {};
  std::optional<std::int64_t> epochs = {};  // in place of the recipe's
  std::vector<std::string> device = {};     // flags of every command that computes
  std::optional<int> threads = {};          // of the processor
};

enum class VoiceStep { Clips, Check, Train, Speak };

// The folder that `myxtts voice` fills, by commands that a person could type:
//
//   voice.json         what it is made from
//   corpus/            of `clips`
//   corpus.html        of `prepare`
//   run/               of `train`
//   spoken/            three sentences of the corpus, of `synthesize`
//   voice.safetensors  the voice of its best clips, for synthesize --voice
//   voice.html         all of it on one page
//
// It knows what is done from what lies there. One process at a time: `clips` and `train` hold their
// folders.
class VoiceProject {
 public:
  // Throws ConfigError for a folder that was begun with something else, DataError for one that
  // cannot be read.
  explicit VoiceProject(VoiceOrder order);

  // Makes the folder and voice.json.
  void begin() const;

  bool is_done(VoiceStep step) const;
  bool has_clips() const;
  // Whether texts were corrected or recordings added since training began.
  bool corpus_is_newer_than_training() const;
  // Without "myxtts". That of Train follows the recipe for the corpus; that of Speak writes down
  // the sentences. What they need of the steps before must be there.
  std::vector<std::string> command(VoiceStep step) const;

  // What it will take, while the corpus is not there: every command, with guesses of time.
  std::string plan(const VoiceMachine& machine) const;

  // Writes voice.html.
  void write_page() const;
  std::filesystem::path page() const { return order_.folder / "voice.html"; }

  // What to type to speak with the voice.
  std::string speaking_command() const;

 private:
  struct Clip {
    std::string id;
    std::filesystem::path sound;
    std::string text;
    double seconds = 0;
  };
  struct Sentence {
    std::string id;
    std::string text;
  };

  std::filesystem::path in_folder(const char* name) const { return order_.folder / name; }
  std::string described_order() const;
  std::filesystem::path model_that_speaks() const;
  std::vector<std::string> device_words(const char* threads_flag) const;
  std::vector<std::string> clips_command() const;
  std::vector<std::string> train_command(const VoiceRecipe& recipe) const;
  std::vector<std::string> speak_command() const;
  std::vector<Clip> clips() const;
  std::vector<std::filesystem::path> references() const;
  std::vector<Sentence> sentences() const;
  VoiceRecipe recipe(const VoiceMachine& machine) const;

  const VoiceOrder order_;
};

// What the commands of a voice will compute with, by what its device flags ask for.
VoiceMachine voice_machine(const std::vector<std::string>& device_flags);

}  // namespace myxtts
