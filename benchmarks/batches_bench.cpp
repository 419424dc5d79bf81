// SPDX-License-Identifier: Apache-2.0
// batches_bench [SENTENCES VOCABULARY]: how many of the tokens that are computed belong to clips,
// with packed rows and with padded ones, as a Markdown table. Lengths are those of
// tests/data/generated_clips.h, or of the lines of a file.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "data/batches/batch_plan.h"
#include "data/generated_clips.h"
#include "text/tokenizer.h"

namespace {

using namespace myxtts;

std::vector<ClipRow> clips_of(const char* sentences, const Vocabulary& vocabulary) {
  const TextEncoder encoder(vocabulary, Language::En);
  const RandomStream random(1, "pace");
  std::vector<ClipRow> clips;
  std::ifstream file(sentences);
  for (std::string line; std::getline(file, line);) {
    const double pace = 14.5 * (1.0 + 0.1 * random.normal(clips.size()));
    const double seconds = std::clamp(static_cast<double>(line.size()) / pace, 0.5, 11.6);
    clips.push_back({.id = std::to_string(clips.size()),
                     .audio = "",
                     .text = line,
                     .source_frames = static_cast<std::int64_t>(seconds * 22'050),
                     .text_tokens = std::ssize(encoder.encode(line).ids)});
  }
  return clips;
}

struct Shares {
  double packed = 0;
  double padded = 0;
  std::size_t counts = 0;
};

Shares measure(const Corpus& corpus, std::int64_t batch_size) {
  const BatchPlan plan(corpus, GptConfig{}, {.batch_size = batch_size, .seed = 1});
  double useful = 0;
  double packed = 0;
  double padded = 0;
  DataPosition position;
  while (position.epoch < 10) {
    const PlannedBatch batch = plan.batch(position);
    std::int64_t text = 0;
    std::int64_t codes = 0;
    for (const ClipNumber number : batch.clips) {
      const ClipLengths lengths = corpus.lengths(number);
      const std::int64_t own = (lengths.samples + 1023) / 1024;
      useful += static_cast<double>(32 + lengths.text_tokens + 1 + own + 4);
      text = std::max(text, lengths.text_tokens);
      codes = std::max(codes, own);
    }
    packed += static_cast<double>(batch.sizes.tokens);
    padded += static_cast<double>(std::ssize(batch.clips) * (32 + text + 1 + codes + 4));
    position = plan.next(position);
  }
  return {useful / packed, useful / padded, plan.sizes().size()};
}

}  // namespace

int main(int count, char** arguments) {
  const bool from_file = count == 3;
  const auto clips = from_file ? clips_of(arguments[1], Vocabulary::load(arguments[2]))
                               : test::generated_clips(3000);
  fmt::print("| clips | batch | token counts | packed rows: useful | padded rows: useful |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const std::size_t size : {clips.size(), std::size_t{300}}) {
    const auto end = clips.begin() + static_cast<std::ptrdiff_t>(std::min(size, clips.size()));
    const Corpus corpus = Corpus::of({clips.begin(), end});
    for (const std::int64_t batch_size : {4, 8, 16, 32, 64}) {
      const Shares shares = measure(corpus, batch_size);
      fmt::print("| {} | {} | {} | {:.1f} % | {:.1f} % |\n", size, batch_size, shares.counts,
                 100 * shares.packed, 100 * shares.padded);
    }
  }
  return 0;
}
