// SPDX-License-Identifier: Apache-2.0
// The part of Transcriber that finds where words are heard: the decoder is led through the text,
// and what its heads attend to in the sound says when.
#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "listen/transcriber.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::int64_t kSamplesOfPlace = kFramesOfPlace * kWhisperHop;
constexpr double kSecondsOfPlace =
    static_cast<double>(kSamplesOfPlace) / static_cast<double>(kWhisperRate);
constexpr std::int64_t kMostAttention = std::int64_t{1} << 28U;  // numbers at once
constexpr double kLeast = 1e-30;                                 // so that nothing is divided by 0
constexpr std::int64_t kFilterWidth = 7;                         // places, as in OpenAI's program

void exchange(at::Tensor& a, at::Tensor& b) {
  const auto less = at::minimum(a, b);
  b = at::maximum(a, b);
  a = less;
}

// The median of kFilterWidth neighbours in the last dimension, which is mirrored at its ends; as it
// is where it is shorter than that takes. Of the numbers held the least and the greatest are
// dropped and the next one comes in, until one is left.
at::Tensor median_filtered(const at::Tensor& x) {
  constexpr std::int64_t kReach = kFilterWidth / 2;
  const auto places = x.size(-1);
  if (places <= kReach) return x;
  const auto padded = at::reflection_pad1d(x, {kReach, kReach});
  const auto shifted = [&](std::int64_t by) { return padded.narrow(-1, by, places); };
  std::int64_t next = 0;
  std::vector<at::Tensor> held;
  while (std::ssize(held) < kReach + 2) held.push_back(shifted(next++));
  for (;;) {
    for (std::size_t i = 0; i + 1 < held.size(); ++i) exchange(held[i], held[i + 1]);
    held.pop_back();
    for (std::size_t i = held.size() - 1; i > 0; --i) exchange(held[i - 1], held[i]);
    held.erase(held.begin());
    if (next == kFilterWidth) return held.front();
    held.push_back(shifted(next++));
  }
}

// Attention of heads [heads, T, places] to how much each token of one text stands out at a place,
// summed over the heads [T, places].
at::Tensor prominence(const at::Tensor& attention) {
  const auto weights = attention / attention.sum(-1, /*keepdim=*/true).clamp_min(kLeast);
  const auto [deviation, mean] =
      at::std_mean(weights, /*dim=*/{-2}, /*correction=*/0, /*keepdim=*/true);
  return median_filtered((weights - mean) / deviation.clamp_min(kLeast)).sum(0);
}

}  // namespace

// Row `row` of a batch that was read: `prompted` tokens before no_times, the text, the end.
GivenText Transcriber::lay_row(const Said& said, std::size_t row, std::int64_t prompted,
                               const at::Tensor& states,
                               const Whisper::Attention& attention) const {
  const std::vector<std::int64_t>& tokens = said.tokens[row];
  const auto count = std::ssize(tokens);
  GivenText given{.words = {}, .log_probability = -std::numeric_limits<double>::infinity()};
  const auto places = std::min(said.samples[row] / kSamplesOfPlace, network_.sizes().audio_context);
  if (count == 0 || places == 0) return given;
  const auto place = static_cast<std::int64_t>(row);

  const auto scores = network_.scores(states[place].narrow(0, prompted, count + 1));
  auto wanted = at::tensor(tokens, at::kLong);
  const auto text = wanted.to(network_.device()).unsqueeze(1);
  wanted = at::cat({wanted, at::tensor({vocabulary_.end_of_text}, at::kLong)});
  const auto all = scores.log_softmax(-1).gather(1, wanted.to(network_.device()).unsqueeze(1));
  given.log_probability = all.mean().item<double>();
  // Of what is said alone, as OpenAI's program counts.
  const auto likely = scores.narrow(0, 0, count)
                          .narrow(1, 0, vocabulary_.end_of_text)
                          .softmax(-1)
                          .gather(1, text)
                          .cpu();

  at::Tensor matrix;  // [tokens, places]
  for (const at::Tensor& layer : attention.weights) {
    const auto part =
        prominence(layer[place].narrow(1, 0, prompted + count + 2).narrow(2, 0, places));
    matrix = matrix.defined() ? matrix + part : part;
  }
  matrix = (matrix / static_cast<double>(following_heads_.size()))
               .narrow(0, prompted, count + 1)
               .cpu()
               .contiguous();
  const auto entered =
      warp({matrix.const_data_ptr<float>(), static_cast<std::size_t>(matrix.numel())},
           static_cast<std::size_t>(count) + 1, static_cast<std::size_t>(places));
  for (TokenWord& word : split_into_words(vocabulary_, tokens, said.languages[row])) {
    const auto second = [&](std::size_t token) {
      return static_cast<double>(entered[token]) * kSecondsOfPlace;
    };
    const auto probability = likely.narrow(0, static_cast<std::int64_t>(word.first),
                                           static_cast<std::int64_t>(word.count));
    given.words.push_back({.text = std::move(word.text),
                           .begin = second(word.first),
                           .end = second(word.first + word.count),
                           .probability = probability.mean().item<double>()});
  }
  shorten_at_pauses(given.words, 0);
  return given;
}

// As many rows at once as their attention has room for.
std::vector<GivenText> Transcriber::lay_rows(const Said& said) const {
  const auto prompt = prompts(said.languages, /*times=*/false);
  const auto rows = std::ssize(said.tokens);
  std::int64_t longest = 0;
  for (const auto& tokens : said.tokens) longest = std::max(longest, std::ssize(tokens));
  const auto length = prompt.size(1) + longest + 1;
  auto read = at::full({rows, longest + 1}, vocabulary_.end_of_text, at::kLong);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto& tokens = said.tokens[static_cast<std::size_t>(row)];
    if (!tokens.empty()) {
      read[row].narrow(0, 0, std::ssize(tokens)).copy_(at::tensor(tokens, at::kLong));
    }
  }
  const auto all = at::cat({prompt, read.to(prompt.device())}, 1);
  const auto of_row = std::ssize(following_heads_) * length * network_.sizes().audio_context;
  const auto at_once =
      std::max<std::int64_t>(1, kMostAttention / std::max<std::int64_t>(1, of_row));
  std::vector<GivenText> given;
  for (std::int64_t first = 0; first < rows; first += at_once) {
    const auto count = std::min(at_once, rows - first);
    Said part{.encoded = said.encoded.narrow(0, first, count)};
    for (auto row = static_cast<std::size_t>(first); std::ssize(part.tokens) < count; ++row) {
      part.languages.push_back(said.languages[row]);
      part.tokens.push_back(said.tokens[row]);
      part.samples.push_back(said.samples[row]);
    }
    Whisper::Reading reading = network_.begin(part.encoded);
    Whisper::Attention attention{.heads = following_heads_};
    const auto states = network_.read(reading, all.narrow(0, first, count), &attention);
    for (std::int64_t row = 0; row < count; ++row) {
      given.push_back(
          lay_row(part, static_cast<std::size_t>(row), prompt.size(1) - 1, states, attention));
    }
  }
  return given;
}

std::vector<GivenText> Transcriber::lay(const std::vector<at::Tensor>& clips,
                                        const std::vector<std::string>& texts,
                                        const TranscribeOptions& options,
                                        const Wanted& wanted) const {
  const c10::AutoGradMode no_gradients(false);
  MYXTTS_CHECK(clips.size() == texts.size(), "{} texts for {} clips", texts.size(), clips.size());
  constexpr std::int64_t kLongestPrompt = 4;
  const std::string language = options.language.empty() ? "" : language_code(options.language);
  std::vector<GivenText> given(
      clips.size(), {.words = {}, .log_probability = -std::numeric_limits<double>::infinity()});
  for (std::size_t first = 0; first < clips.size() && (!wanted || wanted());) {
    std::vector<Window> windows;
    for (; first < clips.size() && std::ssize(windows) < options.batch; ++first) {
      if (clips[first].size(0) <= window_samples()) windows.push_back({.clip = first});
    }
    if (windows.empty()) continue;
    Said said{.encoded =
                  network_.encode(mel_(sounds_of(clips, windows).to(network_.device())), wanted)};
    if (!said.encoded.defined()) break;
    said.languages = language.empty() ? hear_languages(said.encoded)
                                      : std::vector<std::string>(windows.size(), language);
    for (std::size_t row = 0; row < windows.size(); ++row) {
      const std::string text(strip_spaces(texts[windows[row].clip]));
      auto tokens =
          vocabulary_.encode(has_blanks(said.languages[row]) && !text.empty() ? " " + text : text);
      if (std::ssize(tokens) + kLongestPrompt + 1 > network_.sizes().text_context) tokens.clear();
      said.tokens.push_back(std::move(tokens));
      said.samples.push_back(clips[windows[row].clip].size(0));
    }
    auto laid = lay_rows(said);
    for (std::size_t row = 0; row < windows.size(); ++row) {
      given[windows[row].clip] = std::move(laid[row]);
    }
  }
  return given;
}

}  // namespace myxtts
