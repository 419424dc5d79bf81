// SPDX-License-Identifier: Apache-2.0
#include "listen/transcriber.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "config/value_text.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kSamplesOfTime = kFramesOfPlace * kWhisperHop;  // between two times
constexpr std::int64_t kWindowSeconds = 30;
constexpr double kSilence = 0.6;  // probability of no speech above which, and
constexpr double kUnsure = -1.0;  // log-probability below which a window says nothing

double seconds_of(std::int64_t samples) {
  return static_cast<double>(samples) / static_cast<double>(kWhisperRate);
}

double mean_log_probability(double sum, std::size_t tokens) {
  return sum / static_cast<double>(tokens + 1);  // the end counts
}

}  // namespace

std::vector<WhisperHead> heads_to_follow(const WhisperFiles& files) {
  std::vector<WhisperHead> heads = files.following_heads;
  if (heads.empty()) {
    for (auto layer = files.sizes.text_layers / 2; layer < files.sizes.text_layers; ++layer) {
      for (std::int64_t head = 0; head < files.sizes.text_heads; ++head) {
        heads.emplace_back(layer, head);
      }
    }
  }
  std::ranges::sort(heads);
  return heads;
}

Transcriber::Transcriber(const WhisperFiles& files, c10::Device device, at::ScalarType type)
    : vocabulary_(files.vocabulary),
      following_heads_(heads_to_follow(files)),
      mel_(files.sizes.bands, device),
      network_(files.sizes, files.tensors, device, type) {
  const c10::AutoGradMode no_gradients(false);
  const auto tokens = at::tensor(vocabulary_.never_said(), at::kLong);
  never_ = at::zeros({files.sizes.tokens}).index_fill_(0, tokens, kNever).to(device);
  const auto first =
      at::tensor(std::vector<std::int64_t>{vocabulary_.space, vocabulary_.end_of_text}, at::kLong);
  not_first_ = never_.index_fill(0, first.to(device), kNever);
}

std::int64_t Transcriber::window_samples() const {
  return network_.sizes().audio_context * kSamplesOfTime;
}

std::string Transcriber::language_code(const std::string& language) const {
  const std::string code = to_lower(language.substr(0, language.find('-')));
  if (!vocabulary_.is_multilingual() && code != "en") {
    throw ConfigError(fmt::format(
        "This Whisper knows English alone, and the language is {}; take one whose name does not "
        "end in .en.",
        language));
  }
  if (vocabulary_.language(code) >= 0) return code;
  const std::string meant = language_code_meant(language).value_or("");
  if (vocabulary_.language(meant.substr(0, meant.find('-'))) >= 0) {
    throw ConfigError(
        fmt::format("Whisper does not know the language {}; did you mean {}?", language, meant));
  }
  std::vector<std::string> known;
  for (const auto& [name, token] : vocabulary_.languages()) known.push_back(name);
  throw ConfigError(fmt::format("Whisper does not know the language {}; it knows {}.", language,
                                fmt::join(known, ", ")));
}

// [B, samples of a window], with silence behind what there is.
at::Tensor Transcriber::sounds_of(const std::vector<at::Tensor>& clips,
                                  const std::vector<Window>& windows) const {
  auto sounds = at::zeros({std::ssize(windows), window_samples()});
  for (std::size_t row = 0; row < windows.size(); ++row) {
    const at::Tensor& clip = clips[windows[row].clip];
    const auto count = std::min(window_samples(), clip.size(0) - windows[row].begin);
    sounds[static_cast<std::int64_t>(row)]
        .narrow(0, 0, count)
        .copy_(clip.narrow(0, windows[row].begin, count));
  }
  return sounds;
}

std::vector<std::string> Transcriber::hear_languages(const at::Tensor& encoded) const {
  const auto count = encoded.size(0);
  if (!vocabulary_.is_multilingual())
    return std::vector<std::string>(static_cast<std::size_t>(count), "en");
  Whisper::Reading reading = network_.begin(encoded);
  const auto start = at::full({count, 1}, vocabulary_.start, encoded.options().dtype(at::kLong));
  const auto scores = network_.scores(network_.read(reading, start).select(1, 0)).cpu();
  std::vector<std::string> languages;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto likelier = [&](const auto& a, const auto& b) {
      return scores[row][a.second].template item<float>() <
             scores[row][b.second].template item<float>();
    };
    languages.push_back(std::ranges::max_element(vocabulary_.languages(), likelier)->first);
  }
  return languages;
}

at::Tensor Transcriber::prompts(const std::vector<std::string>& languages, bool times) const {
  std::vector<at::Tensor> rows;
  for (const std::string& language : languages) {
    std::vector<std::int64_t> row{vocabulary_.start};
    if (vocabulary_.is_multilingual()) {
      row.push_back(vocabulary_.language(language));
      row.push_back(vocabulary_.transcribe);
    }
    if (!times) row.push_back(vocabulary_.no_times);
    rows.push_back(at::tensor(row, at::kLong));
  }
  return at::stack(rows).to(network_.device());
}

void Transcriber::rule_out(at::Tensor& scores, bool is_first) const {
  scores += is_first ? not_first_ : never_;
}

// Times come in pairs, but before the end, and do not go back; the first is within the first
// second. Where a time is likelier than every word, it is a time. `scores` [tokens] of one text.
void Transcriber::rule_out_times(at::Tensor scores, const std::vector<std::int64_t>& said) const {
  const auto first_time = vocabulary_.first_time;
  const auto rule = [&scores](std::int64_t begin, std::int64_t end) {
    scores.narrow(0, begin, end - begin).fill_(kNever);
  };
  const auto is_time = [&](std::size_t from_end) {
    return said.size() >= from_end && said[said.size() - from_end] >= first_time;
  };
  rule(vocabulary_.no_times, vocabulary_.no_times + 1);
  if (said.empty()) {
    rule(0, first_time);
    // The first second, of windows of 30.
    const auto latest = (network_.sizes().audio_context + kWindowSeconds / 2) / kWindowSeconds;
    rule(std::min(first_time + latest + 1, vocabulary_.size()), vocabulary_.size());
  }
  const bool opens = is_time(1) && !(said.size() < 2 || is_time(2));  // or ends a piece
  if (is_time(1)) {
    if (opens) {
      rule(0, vocabulary_.end_of_text);
    } else {
      rule(first_time, vocabulary_.size());
    }
  }
  const auto last = std::find_if(said.rbegin(), said.rend(),
                                 [&](std::int64_t token) { return token >= first_time; });
  if (last != said.rend()) {
    rule(first_time, std::min(opens ? *last : *last + 1, vocabulary_.size()));
  }
  const auto likely = scores.log_softmax(0);
  const auto times = likely.narrow(0, first_time, vocabulary_.size() - first_time).logsumexp(0);
  if (times.item<float>() > likely.narrow(0, 0, first_time).max().item<float>()) {
    rule(0, first_time);
  }
}

// The texts that go on stay in the reading; others leave it when they are half of it, since
// copying costs more than a few steps.
std::vector<Transcriber::Heard> Transcriber::decode(const at::Tensor& encoded,
                                                    const at::Tensor& prompt, bool times,
                                                    const Wanted& wanted) const {
  std::vector<Heard> heard(static_cast<std::size_t>(encoded.size(0)));
  std::vector<std::size_t> rows(heard.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  Whisper::Reading reading = network_.begin(encoded);
  auto states = network_.read(reading, prompt);
  const auto at_start = network_.scores(states.select(1, 0)).softmax(-1).cpu();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    heard[row].no_speech =
        at_start[static_cast<std::int64_t>(row)][vocabulary_.no_speech].item<float>();
  }
  const std::int64_t most = network_.sizes().text_context / 2;
  for (std::int64_t step = 0; step < most && (!wanted || wanted()); ++step) {
    auto scores = network_.scores(states.select(1, -1));  // [rows, tokens]
    rule_out(scores, step == 0);
    for (std::size_t i = 0; times && i < rows.size(); ++i) {
      rule_out_times(scores[static_cast<std::int64_t>(i)], heard[rows[i]].tokens);
    }
    const auto chosen = scores.argmax(-1, /*keepdim=*/true);  // [rows, 1]
    const auto tokens = chosen.cpu();
    const auto likely = scores.log_softmax(-1).gather(1, chosen).cpu();
    std::vector<std::int64_t> alive;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Heard& text = heard[rows[i]];
      if (text.is_done) continue;
      const auto place = static_cast<std::int64_t>(i);
      const auto token = tokens[place][0].item<std::int64_t>();
      text.log_probability += likely[place][0].item<float>();
      text.is_done = token == vocabulary_.end_of_text;
      if (text.is_done) continue;
      text.tokens.push_back(token);
      alive.push_back(place);
    }
    if (alive.empty() || reading.length == network_.sizes().text_context) break;
    auto next = chosen;
    if (2 * alive.size() <= rows.size()) {
      const auto kept = at::tensor(alive, at::kLong).to(network_.device());
      reading.keep(kept);
      next = chosen.index_select(0, kept);
      std::vector<std::size_t> left;
      for (const std::int64_t place : alive) left.push_back(rows[static_cast<std::size_t>(place)]);
      rows = std::move(left);
    }
    states = network_.read(reading, next);
  }
  return heard;
}

// Pieces end where two times stand side by side. Gives how many samples of the window they cover:
// to its end, unless the last piece was cut off by it.
std::int64_t Transcriber::add_pieces(const Heard& heard, const Window& window, std::int64_t samples,
                                     Transcript& transcript) const {
  const std::vector<std::int64_t>& tokens = heard.tokens;
  const auto is_time = [&](std::size_t at) { return tokens[at] >= vocabulary_.first_time; };
  const auto time_of = [&](std::size_t at) {  // within the window, whatever is said
    return std::min((tokens[at] - vocabulary_.first_time) * kSamplesOfTime, samples);
  };
  const auto add = [&](std::size_t first, std::size_t last, std::int64_t begin, std::int64_t end) {
    const auto text = vocabulary_.text_of(std::span(tokens).subspan(first, last - first));
    if (strip_spaces(text).empty()) return;
    transcript.pieces.push_back({.begin = seconds_of(window.begin + begin),
                                 .end = seconds_of(window.begin + end),
                                 .text = std::string(strip_spaces(text))});
    transcript.text += text;
  };
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (is_time(i - 1) && is_time(i)) ends.push_back(i);
  }
  const std::size_t count = tokens.size();
  const bool ends_whole = count >= 2 && is_time(count - 1) && !is_time(count - 2);
  if (ends.empty()) {
    const bool has_end = count >= 1 && is_time(count - 1) && time_of(count - 1) > 0;
    add(0, count, 0, has_end ? time_of(count - 1) : samples);
    return samples;
  }
  if (ends_whole) ends.push_back(count);
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    add(first, end, time_of(first), time_of(end - 1));
    first = end;
  }
  return ends_whole ? samples : std::max(time_of(ends.back() - 1), kSamplesOfTime);
}

// The tokens of text that take() adds to the transcript. With times those of whole pieces: of a
// piece that the window cut off the next one tells. Without, all: Whisper sometimes writes times
// that nobody asked for, and no next window tells of what stands behind them.
std::vector<std::int64_t> Transcriber::text_in(const std::vector<std::int64_t>& tokens,
                                               bool times) const {
  const auto is_time = [&](std::size_t at) { return tokens[at] >= vocabulary_.first_time; };
  const std::size_t count = tokens.size();
  std::size_t whole = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (is_time(i - 1) && is_time(i)) whole = i;
  }
  const bool ends_whole = count >= 2 && is_time(count - 1) && !is_time(count - 2);
  if (!times || whole == 0 || ends_whole) whole = count;
  std::vector<std::int64_t> text;
  for (std::size_t i = 0; i < whole; ++i) {
    if (tokens[i] < vocabulary_.end_of_text) text.push_back(tokens[i]);
  }
  return text;
}

// Windows of one kind of prompt; languages that are not known yet are heard. Empty: nobody wants it
// any more.
std::vector<Transcriber::Heard> Transcriber::hear(const std::vector<at::Tensor>& clips,
                                                  const std::vector<Window>& windows, bool times,
                                                  const TranscribeOptions& options,
                                                  std::vector<Transcript>& transcripts,
                                                  const Wanted& wanted) const {
  const auto mel = mel_(sounds_of(clips, windows).to(network_.device()));
  const auto encoded = network_.encode(mel, wanted);
  if (!encoded.defined()) return {};
  std::vector<std::string> languages(windows.size());
  const auto is_unknown = [&](const Window& window) {
    return transcripts[window.clip].language.empty();
  };
  if (options.sounds_like || std::ranges::any_of(windows, is_unknown)) {
    languages = hear_languages(encoded);
  }
  for (std::size_t row = 0; row < windows.size(); ++row) {
    Transcript& transcript = transcripts[windows[row].clip];
    if (options.sounds_like && windows[row].begin == 0) transcript.sounds_like = languages[row];
    if (transcript.language.empty()) transcript.language = languages[row];
    languages[row] = transcript.language;
  }
  auto heard = decode(encoded, prompts(languages, times), times, wanted);
  if (!options.words || (wanted && !wanted())) return heard;
  Said said{.encoded = encoded, .languages = languages};
  for (std::size_t row = 0; row < windows.size(); ++row) {
    said.tokens.push_back(text_in(heard[row].tokens, times));
    said.samples.push_back(
        std::min(window_samples(), clips[windows[row].clip].size(0) - windows[row].begin));
  }
  auto given = lay_rows(said);
  for (std::size_t row = 0; row < heard.size(); ++row) {
    heard[row].words = std::move(given[row].words);
  }
  return heard;
}

// Adds what a window says to its clip. Gives the samples of the clip that are done.
std::int64_t Transcriber::take(const Heard& heard, const Window& window, std::int64_t samples,
                               bool times, Transcript& transcript) const {
  const std::int64_t in_window = std::min(window_samples(), samples - window.begin);
  const double sure = mean_log_probability(heard.log_probability, heard.tokens.size());
  const bool is_long = samples > window_samples();
  const bool is_silent = is_long && heard.no_speech > kSilence && sure < kUnsure;
  std::int64_t covered = in_window;
  if (!times) {
    transcript.text = vocabulary_.text_of(heard.tokens);
  } else if (!is_silent) {
    covered = add_pieces(heard, window, in_window, transcript);
  }
  if (!is_silent) {
    const double begin = seconds_of(window.begin);
    for (const TimedWord& word : heard.words) {
      transcript.words.push_back(
          {word.text, begin + word.begin, begin + word.end, word.probability});
    }
  }
  if (window.begin == 0) transcript.no_speech = heard.no_speech;
  transcript.log_probability += heard.log_probability;
  transcript.tokens.insert(transcript.tokens.end(), heard.tokens.begin(), heard.tokens.end());
  return window.begin + covered;
}

std::vector<Transcript> Transcriber::operator()(const std::vector<at::Tensor>& clips,
                                                const TranscribeOptions& options,
                                                const Wanted& wanted,
                                                const std::function<void()>& heard) const {
  const c10::AutoGradMode no_gradients(false);
  const std::string language = options.language.empty() ? "" : language_code(options.language);
  std::vector<Transcript> transcripts(clips.size(), Transcript{.language = language});
  std::vector<Window> pending;
  for (std::size_t clip = 0; clip < clips.size(); ++clip) pending.push_back({.clip = clip});
  const auto wants_times = [&](const Window& window) {
    return options.times || clips[window.clip].size(0) > window_samples();
  };
  while (!pending.empty() && (!wanted || wanted())) {
    const bool times = wants_times(pending.front());
    std::vector<Window> now;
    std::vector<Window> later;
    for (const Window& window : pending) {
      const bool fits = std::ssize(now) < options.batch && wants_times(window) == times;
      (fits ? now : later).push_back(window);
    }
    const auto found = hear(clips, now, times, options, transcripts, wanted);
    if (wanted && !wanted()) break;
    for (std::size_t row = 0; row < now.size(); ++row) {
      const std::size_t clip = now[row].clip;
      Transcript& transcript = transcripts[clip];
      const std::int64_t samples = clips[clip].size(0);
      const std::int64_t done = take(found[row], now[row], samples, times, transcript);
      if (done < samples) {
        later.push_back({.clip = clip, .begin = done});
        continue;
      }
      transcript.text = std::string(strip_spaces(transcript.text));
      transcript.log_probability =
          mean_log_probability(transcript.log_probability, transcript.tokens.size());
      if (heard) heard();
    }
    pending = std::move(later);
  }
  return transcripts;
}

}  // namespace myxtts
