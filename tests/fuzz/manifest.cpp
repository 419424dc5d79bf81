// SPDX-License-Identifier: Apache-2.0
// The manifests of a corpus. The first byte chooses one of the nine layouts, or lets the program
// find out; the rest is the manifest, or the text file beside a recording.
#include <array>
#include <string>

#include "data/layouts/manifest.h"
#include "fuzz/fuzz_input.h"

namespace {

using namespace myxtts;
namespace fs = std::filesystem;

struct Place {
  CorpusLayout layout;
  const char* manifest;  // where the input goes
  const char* clip;      // a recording that it may name
};

constexpr std::array<Place, 9> kPlaces = {{
    {CorpusLayout::LjSpeech, "metadata.csv", "wavs/a.wav"},
    {CorpusLayout::Original, "metadata_train.csv", "wavs/a.wav"},
    {CorpusLayout::Vctk, "txt/p1/p1_1.txt", "wav48/p1/p1_1.wav"},
    {CorpusLayout::CommonVoice, "train.tsv", "clips/a.mp3"},
    {CorpusLayout::LibriTts, "1/2/1_2_3.normalized.txt", "1/2/1_2_3.wav"},
    {CorpusLayout::CoquiCsv, "list.csv", "a.wav"},
    {CorpusLayout::Plain, "list.txt", "a.wav"},
    {CorpusLayout::NemoJsonl, "list.jsonl", "a.wav"},
    {CorpusLayout::TextFiles, "speaker/a.txt", "speaker/a.wav"},
}};

// A folder for each layout, with one recording; its sound is not looked at.
fs::path corpus_of(std::size_t number) {
  static const bool kIsMade = [] {
    for (std::size_t i = 0; i < kPlaces.size(); ++i) {
      for (const char* file : {kPlaces[i].manifest, kPlaces[i].clip}) {
        const fs::path path = fuzz::folder() / std::to_string(i) / file;
        fs::create_directories(path.parent_path());
        fuzz::put_file(path, "");
      }
    }
    return true;
  }();
  static_cast<void>(kIsMade);
  return fuzz::folder() / std::to_string(number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t number = data[0] % kPlaces.size();
  const bool is_named = data[0] < 128;
  const Place& place = kPlaces[number];
  const fs::path corpus = corpus_of(number);
  fuzz::put_file(corpus / place.manifest, fuzz::text_of(data + 1, size - 1));
  return fuzz::parse([&] {
    read_manifest(
        {.path = corpus, .layout = is_named ? std::optional(place.layout) : std::nullopt});
  });
}
