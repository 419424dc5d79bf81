// SPDX-License-Identifier: Apache-2.0
//
// Speaks several texts at once from a program of one's own, with the queue that `myxtts serve` is
// built on: each text is heard while it is made, whatever is spoken beside it.
//
//   speak_from_code MODEL CLIP TEXT...     writes text-1.wav, text-2.wav, ...
#include <iostream>
#include <string>
#include <vector>

#include <myxtts/audio/audio_file.h>
#include <myxtts/synth/speech_queue.h>
#include <myxtts/synth/text_pieces.h>

int main(int count, char** words) try {
  using namespace myxtts;
  if (count < 4) throw std::runtime_error("usage: speak_from_code MODEL CLIP TEXT...");
  const SpeakingModel model = open_speaking_model(words[1]);
  Synthesizer synthesizer(model, c10::kCPU, /*rows=*/4);
  const auto lengths = reference_lengths(model.reference, model.config.decoder.input_sample_rate);
  const Voice voice = synthesizer.voice_of(read_references(model, {words[2]}, lengths), lengths);
  TextCutter cutter(model.vocabulary, Language::En, most_text_tokens(model.config.gpt));

  SpeechQueue queue(synthesizer, /*most_waiting=*/64);
  std::vector<std::shared_ptr<Speech>> speeches;
  for (int i = 3; i < count; ++i) {
    speeches.push_back(queue.say({.text = cutter.cut(words[i], "the text"),
                                  .voices = voice,
                                  .settings = {.sampling = model.sampling}}));
  }
  for (std::size_t i = 0; i < speeches.size(); ++i) {
    std::vector<float> sound;
    while (true) {  // a player would play each part as it comes
      const auto part = speeches[i]->next(std::chrono::seconds(60));
      if (!part) throw std::runtime_error("nothing was heard for a minute");
      if (part->empty()) break;
      sound.insert(sound.end(), part->begin(), part->end());
    }
    write_wav("text-" + std::to_string(i + 1) + ".wav", sound, synthesizer.sample_rate());
  }
} catch (const std::exception& error) {
  std::cerr << "speak_from_code: " << error.what() << "\n";
  return 1;
}
