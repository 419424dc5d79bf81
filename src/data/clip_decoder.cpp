// SPDX-License-Identifier: Apache-2.0
#include "data/clip_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "data/sound_file.h"

namespace myxtts {
namespace {

constexpr std::size_t kBlock = 32'768;                       // values decoded at a time
constexpr std::int64_t kTrustedFrames = 4'000'000;           // room made for a header's word alone
constexpr std::int64_t kMostFrames = std::int64_t{1} << 26;  // 128 MiB; 50 minutes at 22,050 Hz
constexpr std::int16_t kFullScale = 32'767;
constexpr int kLoudestSilence = 32;     // 60 dB below full scale
constexpr double kClippedShare = 0.25;  // of all samples

// What one look at every sample tells.
struct Findings {
  std::int64_t at_full_scale = 0;
  int peak = 0;
  bool has_nan = false;
};

// Each thread's own, so that no clip allocates anything but its samples.
template <typename Value>
std::span<Value> scratch() {
  thread_local std::vector<Value> block(kBlock);
  return block;
}

// Full scale is 32,768, as libsndfile reads 16-bit files. What is not a number gives any value.
std::int16_t to_16_bits(float value) {
  const float scaled = value * 32768.0F;
  const float above = scaled > -32768.0F ? scaled : -32768.0F;
  const float within = above < 32767.0F ? above : 32767.0F;
  return static_cast<std::int16_t>(static_cast<int>(within + (within < 0.0F ? -0.5F : 0.5F)));
}

void look_at(std::span<const std::int16_t> samples, Findings& findings) {
  int highest = 0;
  int lowest = 0;
  int at_full_scale = 0;
  for (const std::int16_t sample : samples) {
    highest = sample > highest ? sample : highest;
    lowest = sample < lowest ? sample : lowest;
    at_full_scale += sample >= kFullScale || sample <= -kFullScale ? 1 : 0;
  }
  findings.peak = std::max({findings.peak, highest, -lowest});
  findings.at_full_scale += at_full_scale;
}

// One frame of several channels as one sample.
std::int16_t mixed(const short* frame, std::size_t channels) {
  std::int64_t sum = 0;
  for (std::size_t channel = 0; channel < channels; ++channel) sum += frame[channel];
  const auto count = static_cast<std::int64_t>(channels);
  const std::int64_t half = sum < 0 ? -(count / 2) : count / 2;
  return static_cast<std::int16_t>((sum + half) / count);
}

std::int16_t mixed(const float* frame, std::size_t channels) {
  float sum = 0.0F;
  for (std::size_t channel = 0; channel < channels; ++channel) sum += frame[channel];
  return to_16_bits(sum / static_cast<float>(channels));
}

bool has_nan(std::span<const short>) {
  return false;
}

bool has_nan(std::span<const float> values) {
  int bad = 0;
  for (const float value : values) bad += std::fabs(value) <= 1e30F ? 0 : 1;
  return bad > 0;
}

void mix_down(std::span<const float> values, std::size_t channels, std::int16_t* samples) {
  if (channels == 1) {
    for (std::size_t index = 0; index < values.size(); ++index) {
      samples[index] = to_16_bits(values[index]);
    }
    return;
  }
  for (std::size_t at = 0; at < values.size(); at += channels) {
    *samples++ = mixed(values.data() + at, channels);
  }
}

void mix_down(std::span<const short> values, std::size_t channels, std::int16_t* samples) {
  for (std::size_t at = 0; at < values.size(); at += channels) {
    *samples++ = mixed(values.data() + at, channels);
  }
}

// Decodes to the end, or to one frame beyond what is allowed, growing with what was decoded.
class Decoder {
 public:
  Decoder(SoundFile& file, DecodedClip& clip) : file_(file), clip_(clip) {
    const auto promised = std::clamp<std::int64_t>(file.promised_frames(), 0, kTrustedFrames);
    clip_.samples.resize(static_cast<std::size_t>(promised));
  }

  Findings decode() {
    const bool straight = file_.fits_16_bits();
    if (straight && file_.channels() == 1) {
      decode_straight();
    } else if (straight) {
      decode_blocks<short>();
    } else {
      decode_blocks<float>();
    }
    clip_.samples.resize(count_);
    return findings_;
  }

 private:
  // Makes room for `frames` more where nothing is left.
  std::span<std::int16_t> room(std::size_t frames) {
    if (clip_.samples.size() == count_) clip_.samples.resize(count_ + std::max(frames, count_ / 2));
    return std::span(clip_.samples).subspan(count_);
  }

  bool is_too_long() const { return count_ > static_cast<std::size_t>(kMostFrames); }

  void decode_straight() {
    while (!is_too_long()) {
      const auto target = room(kBlock);
      const auto wanted = std::min<std::size_t>(target.size(), kBlock);
      const auto got = file_.read(target.data(), static_cast<std::int64_t>(wanted));
      if (got == 0) return;
      take(target.first(static_cast<std::size_t>(got)));
    }
  }

  template <typename Value>
  void decode_blocks() {
    const auto block = scratch<Value>();
    const auto channels = static_cast<std::size_t>(file_.channels());
    const std::size_t frames = std::max<std::size_t>(1, block.size() / channels);
    while (!is_too_long()) {
      const auto target = room(frames);
      const auto wanted = std::min(target.size(), frames);
      const auto got = file_.read(block.data(), static_cast<std::int64_t>(wanted));
      if (got == 0) return;
      const auto values = block.first(static_cast<std::size_t>(got) * channels);
      findings_.has_nan = findings_.has_nan || has_nan(std::span<const Value>(values));
      mix_down(std::span<const Value>(values), channels, target.data());
      take(target.first(static_cast<std::size_t>(got)));
    }
  }

  void take(std::span<const std::int16_t> samples) {
    look_at(samples, findings_);
    count_ += samples.size();
  }

  SoundFile& file_;
  DecodedClip& clip_;
  std::size_t count_ = 0;
  Findings findings_;
};

using Fault = std::pair<SkipReason, std::string>;

std::optional<Fault> fault_of_length(const SoundFile& file, std::int64_t frames) {
  if (const auto damage = file.damage(); !damage.empty()) {
    return Fault(SkipReason::Unreadable,
                 fmt::format("damaged after {} samples: {}", frames, damage));
  }
  if (file.length_is_exact() && frames < file.promised_frames()) {
    return Fault(SkipReason::Truncated,
                 fmt::format("{} samples, the header promises {}", frames, file.promised_frames()));
  }
  if (frames == 0) return Fault(SkipReason::Empty, "0 samples");
  if (frames > kMostFrames) {
    return Fault(SkipReason::AudioTooLong, fmt::format("more than {} samples", kMostFrames));
  }
  return std::nullopt;
}

std::optional<Fault> fault_of_sound(const Findings& findings, std::int64_t frames) {
  if (findings.has_nan) return Fault(SkipReason::NotANumber, "values that are not numbers");
  if (findings.peak <= kLoudestSilence) {
    return Fault(SkipReason::Silent,
                 fmt::format("peak {} of 32768, at least {}", findings.peak, kLoudestSilence + 1));
  }
  const double share = static_cast<double>(findings.at_full_scale) / static_cast<double>(frames);
  if (share >= kClippedShare) {
    return Fault(SkipReason::Clipped,
                 fmt::format("{:.0f} % of all samples at full scale, below {:.0f} %", 100.0 * share,
                             100.0 * kClippedShare));
  }
  return std::nullopt;
}

}  // namespace

std::variant<DecodedClip, Skipped> decode_clip(const std::filesystem::path& path) {
  auto opened = SoundFile::open(path);
  if (auto* skipped = std::get_if<Skipped>(&opened)) return std::move(*skipped);
  auto& file = std::get<SoundFile>(opened);
  DecodedClip clip{.samples = {}, .sample_rate = file.sample_rate(), .channels = file.channels()};
  const Findings findings = Decoder(file, clip).decode();
  const auto frames = static_cast<std::int64_t>(clip.samples.size());
  auto fault = fault_of_length(file, frames);
  if (!fault) fault = fault_of_sound(findings, frames);
  if (!fault) return clip;
  return Skipped{.file = path, .reason = fault->first, .measured = std::move(fault->second)};
}

}  // namespace myxtts
