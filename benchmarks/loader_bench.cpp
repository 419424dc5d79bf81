// SPDX-License-Identifier: Apache-2.0
// Loads the clips of a list over and over, on one thread: decode, mix, 16 bits, resample, tokenise,
// cut a prompt. See loader_bench.py, which runs it beside others.
//
//   loader_bench VOCABULARY LANGUAGE LIST SECONDS      a line of LIST: path|text
//
// Prints clips a second of processor time, and the samples and ids of all clips as a check.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "audio/resample.h"
#include "base/error.h"
#include "base/process.h"
#include "base/random.h"
#include "data/clip_decoder.h"
#include "text/tokenizer.h"

namespace {

using namespace myxtts;

constexpr std::int64_t kRate = 22'050;
constexpr std::int64_t kShortestPrompt = 66'150;
constexpr std::int64_t kLongestPrompt = 132'300;

struct Clip {
  std::string path;
  std::string text;
};

std::vector<Clip> read_list(const char* path) {
  std::vector<Clip> clips;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto bar = line.find('|');
    clips.push_back({line.substr(0, bar), line.substr(bar + 1)});
  }
  return clips;
}

class Loader {
 public:
  explicit Loader(const TextEncoder& encoder) : encoder_(encoder) {}

  void load(const Clip& clip) {
    const auto decoded = decode_clip(clip.path);
    if (const auto* skipped = std::get_if<Skipped>(&decoded)) {
      throw DataError(clip.path + ": " + skipped->measured);
    }
    const auto sound = at_model_rate(std::get<DecodedClip>(decoded));
    ids_ += encoder_.encode(clip.text).ids.size();
    samples_ += sound.size(0);
    prompt_ = cut_prompt(sound);
  }

  std::int64_t samples() const { return samples_; }
  std::size_t ids() const { return ids_; }

 private:
  at::Tensor at_model_rate(const DecodedClip& clip) {  // [S] fp32
    auto* data = const_cast<std::int16_t*>(clip.samples.data());
    const auto samples =
        at::from_blob(data, {static_cast<std::int64_t>(clip.samples.size())}, at::kShort);
    const auto wave = samples.to(at::kFloat).mul_(1.0 / 32768.0);
    if (clip.sample_rate == kRate) return wave;
    const auto found = resamplers_.try_emplace(clip.sample_rate, clip.sample_rate, kRate, at::kCPU);
    return found.first->second(wave).clamp_(-1.0, 1.0);
  }

  at::Tensor cut_prompt(const at::Tensor& sound) {
    const auto wanted = kShortestPrompt + below(kLongestPrompt - kShortestPrompt + 1);
    const auto length = wanted <= sound.size(0) ? wanted : sound.size(0) / 2;
    const auto first = below(sound.size(0) - length + 1);
    return at::constant_pad_nd(sound.narrow(0, first, length), {0, kLongestPrompt - length});
  }

  std::int64_t below(std::int64_t limit) { return random_.integer(draws_++, 0, limit - 1); }

  const TextEncoder& encoder_;
  std::map<std::int64_t, Resampler> resamplers_;
  RandomStream random_{1, "loader_bench/prompt"};
  std::uint64_t draws_ = 0;
  std::int64_t samples_ = 0;
  std::size_t ids_ = 0;
  at::Tensor prompt_;
};

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

int run(char** arguments) {
  keep_freed_memory();  // as the program does
  at::set_num_threads(1);
  const auto vocabulary = Vocabulary::load(arguments[1]);
  const TextEncoder encoder(vocabulary, parse_language(arguments[2]));
  const auto clips = read_list(arguments[3]);
  const double seconds = std::atof(arguments[4]);

  Loader check(encoder);  // warms everything up as well
  for (const auto& clip : clips) check.load(clip);
  Loader loader(encoder);
  const double start = processor_seconds();
  std::size_t loaded = 0;
  while (loaded == 0 || processor_seconds() - start < seconds) {
    for (const auto& clip : clips) loader.load(clip);
    loaded += clips.size();
  }
  std::cout << static_cast<double>(loaded) / (processor_seconds() - start) << ' ' << check.samples()
            << ' ' << check.ids() << '\n';
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::cerr << "loader_bench VOCABULARY LANGUAGE LIST SECONDS\n";
    return 2;
  }
  try {
    return run(arguments);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
