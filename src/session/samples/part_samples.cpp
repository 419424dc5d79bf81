// SPDX-License-Identifier: Apache-2.0
#include "session/samples/part_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "base/error.h"
#include "base/files.h"
#include "config/model.h"
#include "data/corpus.h"
#include "model/dvae.h"
#include "run/model_folder.h"
#include "synth/copy_synthesis.h"
#include "synth/decode_engine.h"
#include "synth/sampling.h"
#include "synth/sound_seams.h"
#include "synth/synthesizer.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace myxtts {
namespace {

constexpr double kDarkest = -11.5;   // ln power: where the model's own floor is
constexpr double kLightest = 4.0;    // what loud speech reaches
constexpr std::int64_t kAcross = 2;  // pixels of a frame
constexpr std::int64_t kDown = 3;    // pixels of a band
constexpr std::int64_t kGap = 4;     // pixels between two spectrograms

// [bands · kDown, F · kAcross] of shades.
at::Tensor shades_of(const at::Tensor& log_mel) {
  const auto share = (log_mel.cpu().to(at::kFloat) - kDarkest) / (kLightest - kDarkest);
  const auto shades = at::nan_to_num(share, 0.0).clamp(0.0, 1.0).mul(255.0).round().to(at::kByte);
  return shades.flip({0}).repeat_interleave(kDown, 0).repeat_interleave(kAcross, 1);
}

// ln of the mel power of a sound [S], [bands, F]: about 86 frames a second at every rate, so that
// pictures of sounds at several rates have the same width.
at::Tensor log_mel(const at::Tensor& sound, std::int64_t sample_rate) {
  MelConfig config = dvae_mel_config();
  config.hop = std::llround(static_cast<double>(config.hop * sample_rate) /
                            static_cast<double>(config.sample_rate));
  config.sample_rate = sample_rate;
  const MelSpectrogram mel(config, at::kCPU);
  const auto missing = std::max<std::int64_t>(mel.minimum_samples() - sound.size(0), 0);
  const auto padded = at::constant_pad_nd(sound, {0, missing});
  return mel(padded.unsqueeze(0)).squeeze(0).clamp_min(1e-5).log();
}

// Spectrograms [bands, F] in ln power one below another, the first at the top, high notes above low
// ones. The shades mean the same in every picture.
Picture mel_picture(const std::vector<at::Tensor>& log_mels) {
  std::vector<at::Tensor> panels;
  std::int64_t width = 1;
  for (const auto& mel : log_mels) width = std::max(width, mel.size(1) * kAcross);
  for (const auto& mel : log_mels) {
    if (!panels.empty()) panels.push_back(at::full({kGap, width}, 255, at::kByte));
    const auto shades = shades_of(mel);
    panels.push_back(at::constant_pad_nd(shades, {0, width - shades.size(1)}));
  }
  const auto all = at::cat(panels).contiguous();
  const auto* first = all.const_data_ptr<std::uint8_t>();
  return {.width = width, .height = all.size(0), .shades = {first, first + all.numel()}};
}

constexpr int kPhaseRounds = 32;
constexpr double kMomentum = 0.99;  // of the fast form of the algorithm (Perraudin et al., 2013)
constexpr double kLoudest = 0.95;

// The power spectrum [bins, F] of least squares that has these mel bands, without what is negative.
at::Tensor spectrum_of(const at::Tensor& power, const MelConfig& config) {
  const auto filters = mel_filters(config);  // [bins, bands]
  return at::matmul(at::linalg_pinv(filters.t()), power).clamp_min(0);
}

// A sound [S] whose mel spectrogram is near to `power` [bands, F] of dvae_mel_config(), with phases
// found by Griffin and Lim's algorithm: rough, but every word can be understood. On the CPU; the
// same power gives the same sound.
at::Tensor sound_of_mel(const at::Tensor& power) {
  const MelConfig config = dvae_mel_config();
  const auto window = mel_window(config);
  const auto loudness = spectrum_of(power, config).sqrt();  // [bins, F]
  const auto samples = (power.size(1) - 1) * config.hop;
  if (samples < config.fft_size) return at::zeros({config.fft_size});
  const auto sound_of = [&](const at::Tensor& spectrum) {
    return at::istft(spectrum, config.fft_size, config.hop, config.window, window, /*center=*/true,
                     /*normalized=*/false, /*onesided=*/true, samples);
  };
  const auto spectrum_of_sound = [&](const at::Tensor& sound) {
    return at::stft(sound, config.fft_size, config.hop, config.window, window, /*center=*/true,
                    /*pad_mode=*/"reflect", /*normalized=*/false, /*onesided=*/true,
                    /*return_complex=*/true);
  };
  auto spectrum = at::complex(loudness, at::zeros_like(loudness));
  auto before = at::zeros_like(spectrum);
  for (int round = 0; round < kPhaseRounds; ++round) {
    const auto now = spectrum_of_sound(sound_of(spectrum));
    const auto ahead = now + kMomentum * (now - before);
    spectrum = at::polar(loudness, at::angle(ahead));
    before = now;
  }
  const auto sound = sound_of(spectrum);
  return sound * (kLoudest / sound.abs().max().clamp_min(kLoudest));
}

constexpr std::int64_t kGoodReference = 3 * kModelRate;  // samples
constexpr std::int64_t kShortest = 2 * kModelRate;
constexpr std::int64_t kLongest = 8 * kModelRate;

std::span<const ClipNumber> held_back(const Corpus& corpus) {
  return corpus.validation().empty() ? corpus.training() : corpus.validation();
}

// The first `count` clips that are held back from training (of all clips where none is), those of
// two to eight seconds before others. The same for the same corpus.
std::vector<ClipView> sample_clips(const Corpus& corpus, std::int64_t count) {
  const auto all = held_back(corpus);
  std::vector<ClipNumber> order(all.begin(), all.end());
  std::ranges::stable_partition(order, [&corpus](ClipNumber number) {
    const std::int64_t samples = corpus.clip(number).samples;
    return samples >= kShortest && samples <= kLongest;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::vector<ClipView> clips;
  for (const ClipNumber number : order) clips.push_back(corpus.clip(number));
  return clips;
}

// The clip whose voice speaks sentences that have none of their own: the first of three seconds and
// more, else the longest.
std::filesystem::path reference_clip(const Corpus& corpus) {
  const auto clips = held_back(corpus);
  ClipNumber best = clips.front();
  for (const ClipNumber number : clips) {
    const std::int64_t samples = corpus.clip(number).samples;
    if (samples > corpus.clip(best).samples) best = number;
    if (samples >= kGoodReference) return {corpus.clip(number).audio};
  }
  return {corpus.clip(best).audio};
}

std::string numbered(std::size_t index) {
  return fmt::format("{:02}", index + 1);
}

using Wanted = std::function<bool()>;

// For the DVAE: the mel spectrogram of each clip, and below it what comes back of it from its
// codes. `with_sound`: as a sound too.
void reconstruct_clips(const std::vector<ClipView>& clips, bool with_sound, const OpenModel& model,
                       const TakeSample& take, const Wanted& wanted) {
  const Dvae dvae(model.config.dvae, model.dvae);
  const MelSpectrogram mel(dvae_mel_config(), at::kCPU);
  const at::Tensor& stats = model.model.at("mel_stats");
  for (std::size_t index = 0; index < clips.size() && wanted(); ++index) {
    const auto clip = read_clip(std::filesystem::path(clips[index].audio),
                                model.config.decoder.input_sample_rate);
    const auto original = normalised_log_mel(mel(clip.unsqueeze(0)), stats);  // [1, bands, F]
    const auto codes = dvae.quantise(dvae.encode(original));
    const auto back = dvae.decode(dvae.look_up(codes)).narrow(2, 0, original.size(2));
    const auto to_power = stats.view({1, -1, 1});
    const auto log_power = (back * to_power).squeeze(0);  // [bands, F]
    take({.name = numbered(index),
          .text = std::string(clips[index].text),
          .language = std::string(clips[index].language),
          .sound = with_sound ? sound_of_mel(log_power.exp()) : at::Tensor(),
          .sample_rate = dvae_mel_config().sample_rate,
          .picture = mel_picture({(original * to_power).squeeze(0), log_power})});
    take({.name = numbered(index) + "-original",
          .sound = clip,
          .sample_rate = model.config.decoder.input_sample_rate});
  }
}

// For the vocoder: each clip said again (CopySynthesis), with a picture of the recording
// above one of the copy.
void copy_clips(const std::vector<ClipView>& clips, const Vocabulary& vocabulary,
                const OpenModel& model, const TakeSample& take, const Wanted& wanted) {
  const CopySynthesis copy(model, at::kCPU);
  for (std::size_t index = 0; index < clips.size() && wanted(); ++index) {
    const auto clip = read_clip(std::filesystem::path(clips[index].audio), copy.input_rate());
    const TextEncoder encoder(vocabulary, parse_language(std::string(clips[index].language)));
    const auto ids = encoder.encode(clips[index].text).ids;
    const at::Tensor copied = copy(clip, std::vector<std::int64_t>(ids.begin(), ids.end()), wanted);
    if (!copied.defined()) return;
    take({.name = numbered(index),
          .text = std::string(clips[index].text),
          .language = std::string(clips[index].language),
          .sound = copied,
          .sample_rate = copy.sample_rate(),
          .picture = mel_picture(
              {log_mel(clip, copy.input_rate()), log_mel(copied, copy.sample_rate())})});
    take({.name = numbered(index) + "-original", .sound = clip, .sample_rate = copy.input_rate()});
  }
}

// A text and whose voice says it.
struct SpokenText {
  std::string text = {};
  std::string language = {};
  std::vector<TextPiece> pieces = {};
  std::filesystem::path reference = {};
  bool is_recorded = false;  // the reference is a recording of this very text
  std::int64_t most_codes =
      0;  // a model that knows nothing yet does not stop; 0: as many as it can
};

constexpr std::size_t kLargestFile = 1 << 20;  // bytes
constexpr std::int64_t kCodeStride = 1024;     // samples of a code
constexpr std::int64_t kMuchLonger = 3;        // than the recording: it will not stop by itself

std::span<float> values_of(at::Tensor& samples) {
  return {samples.mutable_data_ptr<float>(), static_cast<std::size_t>(samples.numel())};
}

std::vector<TextPiece> pieces_of(const std::string& text, const std::string& language,
                                 const SpeakingModel& model) {
  const Language spoken = parse_language(language);
  const TextEncoder encoder(model.vocabulary, spoken);
  return text_pieces(text, spoken, encoder, most_text_tokens(model.config.gpt));
}

// What the DVAE hears in codes, as ln power.
at::Tensor mel_of_codes(const Dvae& dvae, const OpenModel& model, std::vector<std::int64_t> codes) {
  std::erase_if(codes, [&](std::int64_t code) { return code >= model.config.gpt.start_audio; });
  if (codes.empty()) return at::zeros({dvae_mel_config().bands, 1}) - 100.0;
  const auto row = at::tensor(codes, at::kLong).unsqueeze(0);
  const auto mel = dvae.decode(dvae.look_up(row)).squeeze(0);  // [bands, F]
  return mel * model.model.at("mel_stats").unsqueeze(1);
}

// Says one text, piece after piece; nothing: nobody wants it any more.
std::optional<SpokenPiece> speak(Synthesizer& synthesizer, const SpokenText& text,
                                 const Voice& voice, const SamplingSettings& sampling,
                                 const Wanted& wanted) {
  std::int64_t made = 0;  // codes
  const auto go_on = [&](std::int64_t count) {
    made += count;
    return wanted() && (text.most_codes == 0 || made < text.most_codes);
  };
  SpokenPiece all;
  std::vector<at::Tensor> sound;
  for (std::size_t piece = 0; piece < text.pieces.size(); ++piece) {
    const auto add = [&](std::size_t, SpokenPiece spoken) {
      const auto length = seam_length(synthesizer.sample_rate());
      const auto samples = values_of(spoken.samples);
      if (piece > 0) fade_in(samples, length);
      if (piece + 1 < text.pieces.size()) fade_out(samples, length);
      sound.push_back(spoken.samples);
      all.codes.insert(all.codes.end(), spoken.codes.begin(), spoken.codes.end());
    };
    synthesizer.speak({&text.pieces[piece], 1}, voice, {.sampling = sampling}, go_on, add);
    if (!wanted()) return std::nullopt;
  }
  all.samples = at::cat(sound);
  return all;
}

// The sentences of a file, one a line, in the voice of one clip. Throws DataError as
// read_test_sentences() does.
std::vector<SpokenText> sentences_of_file(const std::filesystem::path& file,
                                          const std::string& language, const SpeakingModel& model,
                                          const std::filesystem::path& reference) {
  std::vector<SpokenText> texts;
  for (const std::string& line : read_test_sentences(file)) {
    auto pieces = pieces_of(line, language, model);
    if (pieces.empty()) continue;
    texts.push_back(
        {.text = line, .language = language, .pieces = std::move(pieces), .reference = reference});
  }
  return texts;
}

// The texts of clips, each in the voice of its clip.
std::vector<SpokenText> texts_of_clips(const std::vector<ClipView>& clips,
                                       const SpeakingModel& model) {
  std::vector<SpokenText> texts;
  for (const ClipView& clip : clips) {
    const std::string text(clip.text);
    texts.push_back({.text = text,
                     .language = std::string(clip.language),
                     .pieces = pieces_of(text, std::string(clip.language), model),
                     .reference = std::filesystem::path(clip.audio),
                     .is_recorded = true,
                     .most_codes = kMuchLonger * clip.samples / kCodeStride + 1});
  }
  return texts;
}

// For the GPT: texts, spoken. A picture shows above what the DVAE makes of the codes that
// were chosen, below the sound that the vocoder makes of them: while there is no trained one,
// the upper half alone shows how the GPT does. Of `speaking` everything but the tensors is used,
// which come with the model.
void speak_texts(SpeakingModel& speaking, const std::vector<SpokenText>& texts,
                 const OpenModel& model, const TakeSample& take, const Wanted& wanted) {
  speaking.tensors = model.model;
  Synthesizer synthesizer(speaking, c10::kCPU, 1);
  const Dvae dvae(model.config.dvae, model.dvae);
  const auto lengths = reference_lengths(model.reference, model.config.decoder.input_sample_rate);
  for (std::size_t number = 0; number < texts.size() && wanted(); ++number) {
    const SpokenText& text = texts[number];
    const Voice voice =
        synthesizer.voice_of(read_references(speaking, {text.reference}, lengths), lengths);
    const auto said = speak(synthesizer, text, voice, speaking.sampling, wanted);
    if (!said) return;
    take({.name = numbered(number),
          .text = text.text,
          .language = text.language,
          .sound = said->samples,
          .sample_rate = synthesizer.sample_rate(),
          .picture = mel_picture({mel_of_codes(dvae, model, said->codes),
                                  log_mel(said->samples, synthesizer.sample_rate())})});
    const std::int64_t rate = model.config.decoder.input_sample_rate;
    take({.name = numbered(number) + (text.is_recorded ? "-original" : "-voice"),
          .sound = read_clip(text.reference, rate),
          .sample_rate = rate});
  }
}

SpeakingModel speaking_model(const StartingModel& start) {
  const std::string json = read_config_text(start.folder);
  return {.folder = start.folder,
          .config = start.network.config,
          .reference = start.network.reference,
          .sampling = parse_sampling_settings(json, files::kConfig),
          .vocabulary = start.vocabulary,
          .tensors = {}};
}

SampleMaker spoken(const RunConfig& config, const StartingModel& start, const Corpus& corpus) {
  SpeakingModel model = speaking_model(start);
  std::vector<SpokenText> texts;
  if (const auto& file = config.run.test_sentences) {
    texts = sentences_of_file(*file, config.data.language, model, reference_clip(corpus));
  } else if (config.run.samples == 0) {
    return nullptr;
  } else {
    texts = texts_of_clips(sample_clips(corpus, config.run.samples), model);
  }
  return [model = std::move(model), texts = std::move(texts)](
             const OpenModel& now, const TakeSample& take, const Wanted& wanted) mutable {
    speak_texts(model, texts, now, take, wanted);
  };
}

SampleMaker reconstructed(const RunConfig& config, const Corpus& corpus) {
  if (config.run.samples == 0) return nullptr;
  return
      [clips = sample_clips(corpus, config.run.samples), with_sound = config.run.judge.has_value()](
          const OpenModel& now, const TakeSample& take, const Wanted& wanted) {
        reconstruct_clips(clips, with_sound, now, take, wanted);
      };
}

SampleMaker copied(const RunConfig& config, const StartingModel& start, const Corpus& corpus) {
  if (config.run.samples == 0) return nullptr;
  return [clips = sample_clips(corpus, config.run.samples), &vocabulary = start.vocabulary](
             const OpenModel& now, const TakeSample& take, const Wanted& wanted) {
    copy_clips(clips, vocabulary, now, take, wanted);
  };
}

}  // namespace

std::vector<std::string> read_test_sentences(const std::filesystem::path& file) {
  std::istringstream text(read_text_file(file, "file of sentences", kLargestFile));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  }
  if (lines.empty()) {
    throw DataError(fmt::format("{} holds no sentence; write one a line.", file.string()));
  }
  return lines;
}

SampleMaker samples_of_part(const RunConfig& config, const StartingModel& start,
                            const Corpus& corpus) {
  switch (config.train.stage) {
    case ModelPart::Gpt:
      return spoken(config, start, corpus);
    case ModelPart::Dvae:
      return reconstructed(config, corpus);
    case ModelPart::Decoder:
      return copied(config, start, corpus);
    case ModelPart::Speaker:
      return nullptr;  // it makes no sound
  }
  throw InternalError("a part without samples");
}

}  // namespace myxtts
